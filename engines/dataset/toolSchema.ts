import { isRecord } from "../../protocol/isRecord.ts";
import { keysOf, objectOf } from "../../protocol/json.ts";

export type Schema = Record<string, unknown>;

/** Keywords whose value is an object of schemas. */
const SCHEMA_MAPS = ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"];
/** Keywords whose value is a list of schemas. */
const SCHEMA_LISTS = ["anyOf", "oneOf", "allOf", "prefixItems"];
/** Keywords whose value is data, which may be null. */
const VALUES = ["default", "const"];
const EXAMPLES = ["enum", "example", "examples"];

/** A JSON schema with everything that it refers to or combines. */
function alternatives(schema: unknown, root: Schema, seen = new Set<unknown>()): Schema[] {
  if (!isRecord(schema) || seen.has(schema)) return [];
  seen.add(schema);
  const listed = ["anyOf", "oneOf", "allOf"].flatMap((key) => listOf(schema[key]));
  const others = [...refTarget(schema, root), ...listed];
  return [schema, ...others.flatMap((other) => alternatives(other, root, seen))];
}

/** Resolves `$ref` within the same schema. */
function refTarget({ $ref: reference }: Schema, root: Schema): unknown[] {
  if (typeof reference !== "string" || !reference.startsWith("#")) return [];
  let found: unknown = root;
  for (const part of reference.split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    found = isRecord(found) || Array.isArray(found) ? (found as Schema)[key] : undefined;
  }
  return [found];
}

/** The schema of an object's property, if the object can have it. */
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
  const allows = (other: unknown) => allowsNull(other, root, seen);
  const { type, enum: values, const: constant, anyOf, oneOf, allOf, nullable } = schema;
  if (nullable === true) return true;
  const types = Array.isArray(type) ? type : [type ?? "null"];
  const hasNull = types.includes("null") && (!Array.isArray(values) || values.includes(null));
  const choices = [anyOf, oneOf].filter(Array.isArray);
  return (
    hasNull &&
    (constant ?? null) === null &&
    choices.every((schemas: unknown[]) => schemas.some(allows)) &&
    [...listOf(allOf), ...refTarget(schema, root)].every(allows)
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
  const clean = (child: unknown): unknown =>
    isRecord(child) ? withoutNulls(child, onDrop, keepsValues, root) : (child ?? drop(onDrop));
  const cleanAll = (all: Schema) => mapObject(all, (child) => unlessEmptied(child, clean(child)));
  return mapObject(schema, (value, key) => {
    if (VALUES.includes(key)) {
      return value !== null || keepsValues || allowsNull(schema, root) ? value : clean(value);
    }
    if (EXAMPLES.includes(key)) return value ?? clean(value);
    if (SCHEMA_MAPS.includes(key) && isRecord(value)) return cleanAll(value);
    if (SCHEMA_LISTS.includes(key) && Array.isArray(value)) return value.map(clean).filter(isSet);
    return clean(value);
  });
}

function drop(onDrop: () => void): undefined {
  onDrop();
}

/** `after`, or undefined if dropping nulls has emptied an object. */
export function unlessEmptied(before: unknown, after: unknown): unknown {
  const isEmptied = isRecord(after) && keysOf(after).length === 0;
  return isEmptied && isRecord(before) && keysOf(before).length > 0 ? undefined : after;
}

/** Maps an object's values; drops keys whose value becomes undefined. */
export function mapObject(
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
