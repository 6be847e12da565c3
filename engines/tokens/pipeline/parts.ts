import { isRecord } from "../../../protocol/isRecord.ts";

export type Config = Record<string, unknown>;

/** A part of a text between its first step and its model. */
export interface Piece {
  text: string;
  /** Whether it begins where the whole text does. */
  isFirst: boolean;
}

/** Makes smaller pieces of one. */
export type Cut = (piece: Piece) => Piece[];

/** A token of a text. */
export interface Token {
  id: number;
  /** As the vocabulary has it; an added token with the white space that it takes along. */
  token: string;
  /** Of the text that it stands for, as its model reads it. */
  bytes: number;
}

/** What Kit does not do as Hugging Face's tokenizers does; its message follows "has". */
export class UnknownPart extends Error {}

/** A part by its `type`. @throws UnknownPart */
export function unknownType(part: string, { type }: Config): UnknownPart {
  return new UnknownPart(`a ${part} of the type ${JSON.stringify(type)}`);
}

/** The parts of a `Sequence`. */
export function partsOf(name: string, part: Config, key: string): Config[] {
  const parts = part[key];
  if (!Array.isArray(parts) || !parts.every(isRecord)) {
    throw new Error(`its ${name} has no list of ${key}`);
  }
  return parts;
}

/** A part that may be null or left out. */
export function optionalPart(file: Config, name: string): Config | undefined {
  const part = file[name];
  if (part === null || part === undefined) return undefined;
  if (!isRecord(part)) throw new Error(`its ${name} is not an object`);
  return part;
}

export function flagOf(part: Config, key: string, usual?: boolean): boolean {
  const flag = part[key] ?? usual;
  if (typeof flag === "boolean") return flag;
  throw new Error(`"${key}" is neither true nor false`);
}

export function textOf(part: Config, key: string, usual?: string): string {
  const text = part[key] ?? usual;
  if (typeof text === "string") return text;
  throw new Error(`"${key}" is not a text`);
}

export function countOf(part: Config, key: string, usual?: number): number {
  const count = part[key] ?? usual;
  if (Number.isSafeInteger(count) && Number(count) >= 0) return Number(count);
  throw new Error(`"${key}" is not a count`);
}

/** A single character. */
export function characterOf(part: Config, key: string): string {
  const text = textOf(part, key);
  if ([...text].length === 1) return text;
  throw new Error(`"${key}" is not one character`);
}
