import { isRecord } from "../../protocol/isRecord.ts";
import { keysOf, objectOf } from "../../protocol/json.ts";

export type Schema = Record<string, unknown>;

/** Keywords whose value is an object of schemas, or a list of them. */
const NAMED = ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"];
const LISTED = ["anyOf", "oneOf", "allOf", "prefixItems"];
/** Keywords whose value is data, which may be null. */
const VALUES = ["default", "const"];
const EXAMPLES = ["enum", "example", "examples"];

/** A JSON schema with everything that it refers to or combines. */
function alternatives(schema: unknown, root: Schema, seen = new Set<unknown>()): Schema[] {
  if (!isRecord(schema) || seen.has(schema)) return [];
  seen.add(schema);
  const listed = ["anyOf", "oneOf", "allOf"].flatMap((key) => listOf(schema[key]));
  const others = [...referredBy(schema, root), ...listed];
  return [schema, ...others.flatMap((one) => alternatives(one, root, seen))];
}

/** Resolves `$ref` within the same schema. */
function referredBy({ $ref: reference }: Schema, root: Schema): unknown[] {
  if (typeof reference !== "string" || !reference.startsWith("#")) return [];
  let found: unknown = root;
  for (const part of reference.split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    found = isRecord(found) || Array.isArray(found) ? (found as Schema)[key] : undefined;
  }
  return [found];
}

/** The schema of an object's property; undefined without such a property. */
export function propertyOf(schema: unknown, key: string, root: Schema): unknown {
  for (const { properties, required, additionalProperties: others } of alternatives(schema, root)) {
    if (isRecord(properties) && Object.hasOwn(properties, key)) return properties[key];
    if (listOf(required).includes(key)) return {};
    if (isRecord(others) && allowsNull(others, root)) return others;
  }
  return undefined;
}

/** The schema of a list's items. */
export function itemsOf(schema: unknown, root: Schema): unknown {
  return alternatives(schema, root).find(({ items }) => isRecord(items))?.["items"];
}

export function allowsNull(schema: unknown, root: Schema, seen = new Set<unknown>()): boolean {
  if (!isRecord(schema) || seen.has(schema)) return true;
  seen.add(schema);
  const allows = (one: unknown) => allowsNull(one, root, seen);
  const { type, enum: values, const: only, anyOf, oneOf, allOf, nullable } = schema;
  if (nullable === true) return true;
  const types = Array.isArray(type) ? type : [type ?? "null"];
  const hasNull = types.includes("null") && (!Array.isArray(values) || values.includes(null));
  const choices = [anyOf, oneOf].filter(Array.isArray);
  return (
    hasNull &&
    (only ?? null) === null &&
    choices.every((some: unknown[]) => some.some(allows)) &&
    [...listOf(allOf), ...referredBy(schema, root)].every(allows)
  );
}

/**
 * A JSON schema without the nulls that pad it, and without objects that held nothing else.
 * @param onDrop called for each null
 * @param keepsValues whether to keep a `default` or `const` of null that the type doesn't allow
 */
export function withoutNulls(
  schema: Schema,
  onDrop: () => void,
  keepsValues = false,
  root = schema,
): Schema {
  const clean = (one: unknown): unknown =>
    isRecord(one) ? withoutNulls(one, onDrop, keepsValues, root) : (one ?? dropped(onDrop));
  const cleanAll = (all: Schema) => objectWith(all, (one) => unlessEmptied(one, clean(one)));
  return objectWith(schema, (value, key) => {
    if (VALUES.includes(key)) {
      return value !== null || keepsValues || allowsNull(schema, root) ? value : clean(value);
    }
    if (EXAMPLES.includes(key)) return value ?? clean(value);
    if (NAMED.includes(key) && isRecord(value)) return cleanAll(value);
    if (LISTED.includes(key) && Array.isArray(value)) return value.map(clean).filter(isSet);
    return clean(value);
  });
}

function dropped(onDrop: () => void): undefined {
  onDrop();
}

/** Undefined for an object that dropping nulls has emptied. */
export function unlessEmptied(before: unknown, after: unknown): unknown {
  const isEmptied = isRecord(after) && keysOf(after).length === 0;
  return isEmptied && isRecord(before) && keysOf(before).length > 0 ? undefined : after;
}

/** Maps an object's values; drops keys whose value becomes undefined. */
export function objectWith(
  object: Schema,
  change: (value: unknown, key: string) => unknown,
): Schema {
  const values = new Map(keysOf(object).map((key) => [key, change(object[key], key)] as const));
  const keys = [...values.keys()].filter((key) => values.get(key) !== undefined);
  return objectOf(keys, (key) => values.get(key));
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [];
}

function isSet(value: unknown): boolean {
  return value !== undefined;
}
