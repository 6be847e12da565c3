import { isRecord } from "../../../protocol/isRecord.ts";

export type Config = Record<string, unknown>;

/** A part of the text; the tokenizer's model (such as BPE) splits each part into tokens. */
export interface PreToken {
  text: string;
  /** Whether it is at the start of the whole text. */
  isFirst: boolean;
}

export type Split = (preToken: PreToken) => PreToken[];

export interface Token {
  id: number;
  /** The token's text in the vocabulary. An added token's includes the white space that it consumes. */
  token: string;
  /** Bytes of the normalized text that the token covers. */
  bytes: number;
}

/** A feature of Hugging Face's tokenizers that Kit lacks. Its message completes "The file has …". */
export class Unsupported extends Error {}

/** The error for a component of an unknown type. */
export function unknownType(part: string, { type }: Config): Unsupported {
  return new Unsupported(`a ${part} of type ${JSON.stringify(type)}`);
}

/** Makes a component with the factory of its type. @param name the component's key in `tokenizer.json` */
export function makeComponent<T>(
  factories: Record<string, (part: Config) => T>,
  name: string,
  part: Config,
): T {
  const type = String(part["type"]);
  if (!Object.hasOwn(factories, type)) throw unknownType(name, part);
  return factories[type]!(part);
}

/** The components of a `Sequence`. */
export function components(name: string, part: Config, key: string): Config[] {
  const parts = part[key];
  if (!Array.isArray(parts) || !parts.every(isRecord)) {
    throw new Error(`its ${name} has no list of ${key}`);
  }
  return parts;
}

/** A component that may be null or missing. */
export function optionalComponent(file: Config, name: string): Config | undefined {
  const part = file[name];
  if (part === null || part === undefined) return undefined;
  if (!isRecord(part)) throw new Error(`its ${name} is not an object`);
  return part;
}

export function flagOf(part: Config, key: string, fallback?: boolean): boolean {
  const flag = part[key] ?? fallback;
  if (typeof flag === "boolean") return flag;
  throw new Error(`"${key}" is neither true nor false`);
}

export function textOf(part: Config, key: string, fallback?: string): string {
  const text = part[key] ?? fallback;
  if (typeof text === "string") return text;
  throw new Error(`"${key}" is not a string`);
}

export function countOf(part: Config, key: string, fallback?: number): number {
  const count = part[key] ?? fallback;
  if (Number.isSafeInteger(count) && Number(count) >= 0) return Number(count);
  throw new Error(`"${key}" is not a whole number of at least 0`);
}

/** A single character. */
export function characterOf(part: Config, key: string): string {
  const text = textOf(part, key);
  if ([...text].length === 1) return text;
  throw new Error(`"${key}" is not one character`);
}
