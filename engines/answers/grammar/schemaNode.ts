import { KitError } from "../../../protocol/error.ts";
import { isRecord } from "../../../protocol/isRecord.ts";
import { WholeFloat, stringifyJson } from "../../../protocol/json.ts";
import type { Expression } from "./expression.ts";
import type { Expressions } from "./expressions.ts";

/** Counts steps of work. @throws KitError `REQUEST_INVALID` if there are too many */
export type Spend = (steps: number) => void;

export type Keywords = Readonly<Record<string, unknown>>;

export interface CompileContext {
  grammar: Expressions;
  /** Any character of a string, built once. */
  character: Expression;
  /** Whether values must be written in canonical form, so that equal ones have equal text. */
  isCanonical: boolean;
  /** The first string constraint that no text satisfies, for the error message. */
  missing: string | undefined;
  /** The values that all of these schemas allow. */
  grammarOf: (...schemas: unknown[]) => Expression;
}

/** Keywords that restrict nothing. */
const ANNOTATIONS = new Set([
  "title",
  "description",
  "default",
  "examples",
  "example",
  "deprecated",
  "readOnly",
  "writeOnly",
  "contentEncoding",
  "contentMediaType",
  "contentSchema",
  "nullable",
  "$schema",
  "$id",
  "id",
  "$comment",
  "$defs",
  "definitions",
  "$vocabulary",
  "~standard",
  "$anchor",
  "$dynamicAnchor",
  "xml",
  "externalDocs",
]);

/** Keywords that constrain an answer. */
export const SUPPORTED_KEYWORDS = [
  "type",
  "enum",
  "const",
  "$ref",
  "$dynamicRef",
  "allOf",
  "anyOf",
  "oneOf",
  "not",
  "if",
  "then",
  "else",
  "dependentRequired",
  "dependentSchemas",
  "properties",
  "patternProperties",
  "additionalProperties",
  "unevaluatedProperties",
  "required",
  "propertyNames",
  "minProperties",
  "maxProperties",
  "items",
  "prefixItems",
  "additionalItems",
  "unevaluatedItems",
  "minItems",
  "maxItems",
  "contains",
  "minContains",
  "maxContains",
  "uniqueItems",
  "minLength",
  "maxLength",
  "pattern",
  "format",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
] as const;
const SUPPORTED: ReadonlySet<string> = new Set(SUPPORTED_KEYWORDS);

/** @param what the unsupported keyword, with what is unsupported about it */
export function unsupported(what: string): KitError {
  return new KitError(
    "REQUEST_INVALID",
    `Kit can't enforce this part of the schema: ${what}. Remove it, and validate the answer yourself.`,
  );
}

/**
 * A schema without annotations. Numbers such as 1.0 become JavaScript numbers.
 * @throws KitError `REQUEST_INVALID` naming an unsupported keyword
 */
export function keywordsOf(schema: unknown, spend: Spend): Keywords {
  if (!isRecord(schema))
    throw unsupported(`${stringifyJson(schema)?.slice(0, 60)}, which is not a schema`);
  for (const value of Object.values(schema)) spend(1 + sizeOf(value));
  const constraints = Object.entries(schema).filter(
    ([name, value]) => value !== undefined && !ANNOTATIONS.has(name) && !name.startsWith("x-"),
  );
  const unknown = constraints.find(([name]) => !SUPPORTED.has(name) && name !== "discriminator");
  if (unknown) throw unsupported(`"${unknown[0].slice(0, 60)}"`);
  const tooLarge = constraints.find(([name, value]) =>
    exceedsDouble(value, VALUE_KEYWORDS.has(name)),
  );
  if (tooLarge) throw unsupported(`a number in "${tooLarge[0]}" that exceeds 1.8e308`);
  const { discriminator, ...found } = Object.fromEntries(
    constraints.map(([name, value]) => {
      const isFloat = name !== "const" && value instanceof WholeFloat;
      return [name, isFloat ? Number(value) : value];
    }),
  );
  const tagName = isRecord(discriminator) && discriminator["propertyName"];
  for (const name of typeof tagName === "string" ? ["oneOf", "anyOf"] : []) {
    if (!Array.isArray(found[name])) continue;
    // Pydantic allows a default for the discriminator, so it may not be required. Without it, a value
    // could match several branches.
    const tagged = { type: "object", required: [tagName] };
    found[name] = (found[name] as unknown[]).map((branch) => ({ allOf: [branch, tagged] }));
  }
  return found;
}

const VALUE_KEYWORDS = new Set(["const", "enum"]);

/** Whether a value is, or contains, a number too large for a double. */
function exceedsDouble(value: unknown, isDeep: boolean): boolean {
  if (typeof value === "number" || value instanceof WholeFloat)
    return !Number.isFinite(Number(value));
  if (!isDeep || typeof value !== "object" || value === null) return false;
  return Object.values(value).some((inner) => exceedsDouble(inner, isDeep));
}

function sizeOf(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  return isRecord(value) ? Object.keys(value).length : 0;
}

/** A keyword's values in several keyword sets. */
export function valuesOf(keywordSets: readonly Keywords[], name: string): unknown[] {
  return keywordSets.flatMap((keywords) => (keywords[name] === undefined ? [] : [keywords[name]]));
}

/** A text that is equal for equal JSON, and only for equal JSON. */
export function canonicalJson(value: unknown, spend: Spend): string {
  spend(1);
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item, spend)).join()}]`;
  if (isRecord(value)) {
    const names = Object.keys(value).sort();
    return `{${names.map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name], spend)}`).join()}}`;
  }
  // `1.0` equals 1.
  const isWhole = value instanceof WholeFloat || Number.isInteger(value);
  const text = isWhole ? String(BigInt(Number(value))) : (stringifyJson(value) ?? "");
  spend(text.length >>> 6);
  return text;
}

export const ALL_TYPES = ["object", "array", "string", "number", "boolean", "null"];

/** Types without duplicates. @throws KitError `REQUEST_INVALID` for an unknown type */
export function typesOf(type: unknown): string[] {
  const types = [...new Set<unknown>(Array.isArray(type) ? (type as unknown[]) : [type])];
  const wrong = types.find((name) => name !== "integer" && !ALL_TYPES.includes(name as string));
  if (wrong !== undefined) throw unsupported(`"type" ${stringifyJson(wrong)?.slice(0, 60)}`);
  return types.includes("number")
    ? (types.filter((name) => name !== "integer") as string[])
    : (types as string[]);
}

export function commonTypes(a: readonly string[], b: readonly string[]): string[] {
  return a.flatMap((type) => {
    if (b.includes(type) || (type === "integer" && b.includes("number"))) return [type];
    return type === "number" && b.includes("integer") ? ["integer"] : [];
  });
}

/** The tightest minimum and maximum that all keyword sets impose. */
export function countsOf(keywordSets: readonly Keywords[], minName: string, maxName: string) {
  return {
    minimum: Math.max(0, ...valuesOf(keywordSets, minName).map((value) => countOf(minName, value))),
    maximum: Math.min(
      Infinity,
      ...valuesOf(keywordSets, maxName).map((value) => countOf(maxName, value)),
    ),
  };
}

export function countOf(name: string, value: unknown): number {
  const count = typeof value === "bigint" ? Number(value) : value;
  if (Number.isInteger(count) && Number(count) >= 0) return Number(count);
  throw unsupported(`"${name}" that is not a non-negative integer`);
}

export function listOf(name: string, value: unknown): unknown[] {
  const isOptional = name === "required" || name === "enum";
  if (Array.isArray(value) && (value.length > 0 || isOptional)) return value;
  const kind = isOptional ? "an array" : "a non-empty array";
  throw unsupported(`"${name}" that is not ${kind}`);
}

export function recordOf(name: string, value: unknown): Record<string, unknown> {
  if (isRecord(value)) return value;
  throw unsupported(`"${name}" that is not an object`);
}
