import { KitError, messageOf } from "../../../protocol/error.ts";
import { isRecord } from "../../../protocol/isRecord.ts";
import { WholeFloat, keysOf, objectOf, stringifyJson } from "../../../protocol/json.ts";
import type { Expression, Expressions } from "./expressions.ts";

/** Counts steps of work. @throws KitError `REQUEST_INVALID` when they are too many */
export type Spend = (steps: number) => void;

/** A schema's keywords. */
export type Keywords = Readonly<Record<string, unknown>>;

/** How a part of a schema is read. */
export interface Reading {
  of: Expressions;
  /** Any character of a string, found once. */
  character: Expression;
  /** The JSON that a schema in it allows. */
  grammarOf: (schema: unknown) => Expression;
}

/** Keywords that restrict nothing. */
const ANNOTATIONS = new Set([
  ...["title", "description", "default", "examples", "example", "deprecated", "readOnly"],
  ...["writeOnly", "contentEncoding", "contentMediaType", "contentSchema", "nullable"],
  ...["$schema", "$id", "id", "$comment", "$defs", "definitions", "$vocabulary", "~standard"],
]);

/** Keywords that constrain an answer. */
export const HONOURED = [
  ...["type", "enum", "const", "$ref", "allOf", "anyOf", "oneOf"],
  ...["properties", "required", "additionalProperties", "unevaluatedProperties", "propertyNames"],
  ...["items", "prefixItems", "additionalItems", "unevaluatedItems", "minItems", "maxItems"],
  ...["minLength", "maxLength", "pattern", "format"],
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  ...["uniqueItems", "minProperties"],
] as const;
const KNOWN: ReadonlySet<string> = new Set(HONOURED);

/** @param what names the keyword, and what of it cannot be held */
export function refused(what: string): KitError {
  return new KitError(
    "REQUEST_INVALID",
    `No answer can be held to ${what} of the schema. Remove it, and check the answer yourself.`,
  );
}

/** A schema without its annotations, whose numbers are JavaScript's. @throws KitError `REQUEST_INVALID` naming a keyword that is not honoured */
export function keywordsOf(schema: Keywords, spend: Spend): Keywords {
  for (const value of Object.values(schema)) spend(1 + sizeOf(value));
  const own = Object.entries(schema).filter(
    ([name, value]) => value !== undefined && !ANNOTATIONS.has(name) && !name.startsWith("x-"),
  );
  const unknown = own.find(([name]) => !KNOWN.has(name));
  if (unknown) throw refused(`"${unknown[0].slice(0, 60)}"`);
  return Object.fromEntries(
    own.map(([name, value]) => {
      const isFloat = name !== "const" && value instanceof WholeFloat;
      return [name, isFloat ? Number(value) : value];
    }),
  );
}

function sizeOf(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  return isRecord(value) ? Object.keys(value).length : 0;
}

/** A canonical text: equal for equal JSON only. @throws KitError `REQUEST_INVALID` for a number beyond doubles */
export function textOf(value: unknown, spend: Spend): string {
  spend(1);
  if (Array.isArray(value)) return `[${value.map((one) => textOf(one, spend)).join()}]`;
  if (isRecord(value)) {
    const names = Object.keys(value).sort();
    return `{${names.map((name) => `${JSON.stringify(name)}:${textOf(value[name], spend)}`).join()}}`;
  }
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw refused('a number beyond 1.8e308 in "enum" or "const"');
  }
  // `1.0` equals 1.
  const isWhole = value instanceof WholeFloat || Number.isInteger(value);
  const text = isWhole ? String(BigInt(Number(value))) : (stringifyJson(value) ?? "");
  spend(text.length >>> 6);
  return text;
}

function isSame(one: unknown, other: unknown, spend: Spend): boolean {
  if (one === other) return true;
  if (!isRecord(one) && !Array.isArray(one)) return false;
  return textOf(one, spend) === textOf(other, spend);
}

const GREATER = new Set(["minimum", "exclusiveMinimum", "minLength", "minItems"]);
const SMALLER = new Set(["maximum", "exclusiveMaximum", "maxLength", "maxItems"]);

/**
 * What both of two schemas allow, as one.
 * @throws KitError `REQUEST_INVALID` for keywords that do not join
 */
export function joined(one: Keywords, other: Keywords, spend: Spend): Keywords {
  spend(1 + Object.keys(one).length + Object.keys(other).length);
  assertPlacedAlike(one, other, spend);
  const all: Record<string, unknown> = { ...one };
  for (const [name, value] of Object.entries(other)) {
    const own = one[name];
    all[name] = own === undefined ? value : joinedKeyword(name, own, value, spend);
  }
  assertClosedAlike(one, other, spend);
  return all;
}

function joinedKeyword(name: string, own: unknown, value: unknown, spend: Spend): unknown {
  spend(sizeOf(own) + sizeOf(value));
  if (isSame(own, value, spend)) return own;
  if (isNumber(own) && isNumber(value)) {
    if (GREATER.has(name)) return own > value ? own : value;
    if (SMALLER.has(name)) return own < value ? own : value;
  }
  if (name === "allOf" && Array.isArray(own)) return own.concat(value) as unknown[];
  if (name === "required" && Array.isArray(own) && Array.isArray(value)) {
    return [...new Set<unknown>([...(own as unknown[]), ...(value as unknown[])])];
  }
  if (name === "enum" && Array.isArray(own) && Array.isArray(value)) {
    const others = new Set(value.map((one) => textOf(one, spend)));
    return own.filter((one) => others.has(textOf(one, spend)));
  }
  if (name === "type") return commonTypes(own, value);
  if (name === "properties" && isRecord(own) && isRecord(value)) {
    const names = [...new Set([...keysOf(own), ...keysOf(value)])];
    return objectOf(names, (key) => {
      const both = [own, value].filter((one) => Object.hasOwn(one, key)).map((one) => one[key]);
      return both.length === 2 ? { allOf: both } : both[0];
    });
  }
  if (["items", "additionalProperties", "propertyNames"].includes(name)) {
    if (own === true) return value;
    return value === true ? own : { allOf: [own, value] };
  }
  throw refused(`two of "${name}", both of which are to hold`);
}

function isNumber(value: unknown): value is number | bigint {
  return typeof value === "bigint" || Number.isFinite(value);
}

function commonTypes(own: unknown, value: unknown): string[] {
  const [some, others] = [typesOf(own), typesOf(value)];
  return some.flatMap((type) => {
    if (others.includes(type) || (type === "integer" && others.includes("number"))) return [type];
    return type === "number" && others.includes("integer") ? ["integer"] : [];
  });
}

/** `additionalProperties` covers only what its own schema does not list as a property. */
function assertClosedAlike(one: Keywords, other: Keywords, spend: Spend): void {
  const namesOf = ({ properties }: Keywords) =>
    isRecord(properties) ? Object.keys(properties) : [];
  const isOpen = ({ additionalProperties: more }: Keywords) => more === undefined || more === true;
  const [some, others] = [namesOf(one), namesOf(other)];
  const isBeside = (names: string[], known: string[]) => {
    const all = new Set(known);
    return names.some((name) => !all.has(name));
  };
  spend(some.length + others.length);
  if (isOpen(one) || !isBeside(others, some)) {
    if (isOpen(other) || !isBeside(some, others)) return;
  }
  throw refused(
    '"additionalProperties" of one schema in "allOf", of which another has more properties',
  );
}

const ITEMS = ["items", "prefixItems", "additionalItems"];

/** `items` covers only what follows its own schema's `prefixItems`. */
function assertPlacedAlike(one: Keywords, other: Keywords, spend: Spend): void {
  const hasItems = (of: Keywords) => ITEMS.some((name) => of[name] !== undefined);
  const hasPlaces = (of: Keywords) => of["prefixItems"] !== undefined || Array.isArray(of["items"]);
  if (!hasItems(one) || !hasItems(other) || (!hasPlaces(one) && !hasPlaces(other))) return;
  if (ITEMS.every((name) => isSame(one[name], other[name], spend))) return;
  throw refused('"items" or "prefixItems" of two schemas, both of which are to hold,');
}

/** Refuses `unevaluated…` beside another schema: what that one evaluates is unknown here. */
export function assertEvaluated(schema: Keywords): void {
  const name = ["unevaluatedProperties", "unevaluatedItems"].find(
    (one) => schema[one] !== undefined && schema[one] !== true,
  );
  if (name !== undefined) throw refused(`"${name}" of a schema beside which another is to hold`);
}

const TYPES = ["object", "array", "string", "number", "integer", "boolean", "null"];

/** The types, without duplicates. @throws KitError `REQUEST_INVALID` for an unknown type */
export function typesOf(type: unknown): string[] {
  const types = [...new Set<unknown>(Array.isArray(type) ? (type as unknown[]) : [type])];
  const wrong = types.find((one) => !TYPES.includes(one as string));
  if (wrong !== undefined) throw refused(`"type" ${stringifyJson(wrong)?.slice(0, 60)}`);
  return types as string[];
}

/** The schema that a `$ref` names. @throws KitError `REQUEST_INVALID` if it is missing */
export function resolved(root: unknown, ref: unknown): unknown {
  const missing = () => refused(`"$ref" ${stringifyJson(ref)}, which is not in it,`);
  if (typeof ref !== "string" || !/^#(\/|$)/.test(ref)) throw missing();
  let at: unknown = root;
  for (const part of ref.slice(1).split("/").slice(1)) {
    const name = nameOf(part);
    const isThere = (isRecord(at) || Array.isArray(at)) && Object.hasOwn(at, name);
    if (!isThere) throw missing();
    at = (at as Keywords)[name];
  }
  return at;
}

function nameOf(part: string): string {
  try {
    return decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch (error) {
    throw refused(`a "$ref" that cannot be read (${messageOf(error)})`);
  }
}

export function countOf(name: string, value: unknown): number {
  const count = typeof value === "bigint" ? Number(value) : value;
  if (count === Infinity || (Number.isInteger(count) && Number(count) >= 0)) return Number(count);
  throw refused(`"${name}" that is no count`);
}

export function listOf(name: string, value: unknown): unknown[] {
  const isFilled =
    Array.isArray(value) && (value.length > 0 || name === "required" || name === "enum");
  if (isFilled) return value as unknown[];
  throw refused(`"${name}" that is no list`);
}
