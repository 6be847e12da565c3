import { isRecord } from "../../protocol/isRecord.ts";
import { WholeFloat } from "../../protocol/json.ts";
import { type ApiError, invalid } from "./apiError.ts";

/** A request's body. Inherited fields are ignored; `null` means absent. */
export type Body = Record<string, unknown>;

export function fieldOf(body: Body, name: string): unknown {
  const value = Object.hasOwn(body, name) ? (body[name] ?? undefined) : undefined;
  return value instanceof WholeFloat ? Number(value) : value;
}

export function booleanOf(body: Body, name: string, parent = ""): boolean {
  const value = fieldOf(body, name) ?? false;
  if (typeof value === "boolean") return value;
  throw invalid(parent + name, `${parent}${name} must be true or false.`);
}

/** A field's path, or that of its first invalid element. */
export function pathIn(field: string, value: unknown, isValid: (item: unknown) => boolean): string {
  const at = Array.isArray(value) ? value.findIndex((item) => !isValid(item)) : -1;
  return at === -1 ? field : `${field}[${at}]`;
}

export interface NumberRange {
  /** Completes "must be". */
  expected: string;
  accepts: (value: number) => boolean;
}

/** A count from 0 to a limit. */
export function upTo(max: number): NumberRange {
  return {
    expected: `a whole number from 0 to ${max}`,
    accepts: (value) => Number.isInteger(value) && value >= 0 && value <= max,
  };
}

export function numberOf(body: Body, name: string, range: NumberRange): number | undefined {
  const value = fieldOf(body, name);
  if (value === undefined || (typeof value === "number" && range.accepts(value))) return value;
  throw invalid(name, `${name} must be ${range.expected}.`);
}

export function recordOf(body: Body, name: string, parent = ""): Body | undefined {
  const value = fieldOf(body, name);
  if (value === undefined || isRecord(value)) return value;
  throw invalid(parent + name, `${parent}${name} must be an object.`);
}

export function notSupported(name: string, advice: string): ApiError {
  return invalid(name, `${name} is not supported. ${advice}`);
}
