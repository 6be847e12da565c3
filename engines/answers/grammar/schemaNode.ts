import { isDeepStrictEqual } from "node:util";
import { KitError, messageOf } from "../../../protocol/error.ts";
import { isRecord } from "../../../protocol/isRecord.ts";

/** A schema's keywords. */
export type Keywords = Readonly<Record<string, unknown>>;

/** What says nothing of which JSON is allowed. */
const ANNOTATIONS = new Set([
  ...["title", "description", "default", "examples", "example", "deprecated", "readOnly"],
  ...["writeOnly", "contentEncoding", "contentMediaType", "contentSchema", "nullable"],
  ...["$schema", "$id", "id", "$comment", "$defs", "definitions", "$vocabulary", "~standard"],
]);

/** What an answer is held to. */
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
    `infer cannot hold an answer to ${what} of the schema. Remove it, and check the answer yourself.`,
  );
}

/** A schema without its annotations. @throws KitError `REQUEST_INVALID` naming a keyword that is not honoured */
export function keywordsOf(schema: Keywords): Keywords {
  const own = Object.entries(schema).filter(
    ([name, value]) => value !== undefined && !ANNOTATIONS.has(name) && !name.startsWith("x-"),
  );
  const unknown = own.find(([name]) => !KNOWN.has(name));
  if (unknown) throw refused(`"${unknown[0].slice(0, 60)}"`);
  return Object.fromEntries(own);
}

const GREATER = new Set(["minimum", "exclusiveMinimum", "minLength", "minItems"]);
const SMALLER = new Set(["maximum", "exclusiveMaximum", "maxLength", "maxItems"]);

/**
 * What both of two schemas allow, as one.
 * @throws KitError `REQUEST_INVALID` for keywords that do not join
 */
export function joined(one: Keywords, other: Keywords): Keywords {
  const all: Record<string, unknown> = { ...one };
  for (const [name, value] of Object.entries(other)) {
    const own = one[name];
    all[name] = own === undefined ? value : joinedKeyword(name, own, value);
  }
  assertClosedAlike(one, other);
  return all;
}

function joinedKeyword(name: string, own: unknown, value: unknown): unknown {
  if (isDeepStrictEqual(own, value)) return own;
  if (GREATER.has(name)) return Math.max(Number(own), Number(value));
  if (SMALLER.has(name)) return Math.min(Number(own), Number(value));
  if (name === "allOf" && Array.isArray(own)) return own.concat(value) as unknown[];
  if (name === "required" && Array.isArray(own) && Array.isArray(value)) {
    return [...new Set<unknown>([...(own as unknown[]), ...(value as unknown[])])];
  }
  if (name === "enum" && Array.isArray(own) && Array.isArray(value)) {
    return own.filter((some) => value.some((another) => isDeepStrictEqual(some, another)));
  }
  if (name === "type") return commonTypes(own, value);
  if (name === "properties" && isRecord(own) && isRecord(value)) {
    const both = Object.keys(value).filter((key) => Object.hasOwn(own, key));
    const shared = both.map((key) => [key, { allOf: [own[key], value[key]] }] as const);
    return { ...own, ...value, ...Object.fromEntries(shared) };
  }
  if (["items", "additionalProperties", "propertyNames"].includes(name)) {
    if (own === true) return value;
    return value === true ? own : { allOf: [own, value] };
  }
  throw refused(`two of "${name}", both of which are to hold`);
}

function commonTypes(own: unknown, value: unknown): string[] {
  const [some, others] = [typesOf(own), typesOf(value)];
  return some.flatMap((type) => {
    if (others.includes(type) || (type === "integer" && others.includes("number"))) return [type];
    return type === "number" && others.includes("integer") ? ["integer"] : [];
  });
}

/** `additionalProperties` of one schema speaks of what is beside its own properties alone. */
function assertClosedAlike(one: Keywords, other: Keywords): void {
  const namesOf = ({ properties }: Keywords) =>
    isRecord(properties) ? Object.keys(properties) : [];
  const isOpen = ({ additionalProperties: more }: Keywords) => more === undefined || more === true;
  const [some, others] = [namesOf(one), namesOf(other)];
  const isBeside = (names: string[], known: string[]) =>
    names.some((name) => !known.includes(name));
  if (isOpen(one) || !isBeside(others, some)) {
    if (isOpen(other) || !isBeside(some, others)) return;
  }
  throw refused(
    '"additionalProperties" of one schema in "allOf", of which another has more properties',
  );
}

export function typesOf(type: unknown): string[] {
  return (Array.isArray(type) ? type : [type]) as string[];
}

/** The schema that a `$ref` names. @throws KitError `REQUEST_INVALID` for one that is not there */
export function resolved(root: unknown, ref: unknown): unknown {
  const missing = () => refused(`"$ref" ${JSON.stringify(ref)}, which is not in it,`);
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
