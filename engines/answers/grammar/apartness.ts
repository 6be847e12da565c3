import { isRecord } from "../../../protocol/isRecord.ts";
import type { createReferences } from "./references.ts";
import {
  type Keywords,
  type Spend,
  keywordsOf,
  canonicalJson,
  typesOf,
  valuesOf,
} from "./schemaNode.ts";

/** Compares schemas by what is certain of them. */
export function createApartness(resolved: ReturnType<typeof createReferences>, spend: Spend) {
  /** Keywords that hold of what a schema allows, for certain. */
  function open(schema: unknown): Keywords {
    if (!isRecord(schema)) return {};
    const { $ref, allOf, ...own } = keywordsOf(schema, spend);
    const inner = [...($ref === undefined ? [] : [resolved(schema)]), ...((allOf ?? []) as [])];
    const all = [...inner.map(open), own];
    const entries = valuesOf(all, "properties").flatMap((some) =>
      isRecord(some) ? Object.entries(some) : [],
    );
    return {
      ...Object.fromEntries(all.flatMap((one) => Object.entries(one))),
      required: valuesOf(all, "required").flat(),
      properties: Object.fromEntries(entries),
    };
  }

  /** Whether two of a list can be seen not to hold at once. */
  return (schemas: readonly unknown[]) => {
    const opened = schemas.map(open);
    return (i: number, j: number) => areApart(opened[i]!, opened[j]!, open, spend);
  };
}

/**
 * Whether types, values and required properties show that no JSON matches both schemas.
 * @param open what is certain of a schema's property
 */
function areApart(
  one: Keywords,
  other: Keywords,
  open: (schema: unknown) => Keywords,
  spend: Spend,
): boolean {
  spend(2);
  const [values, others] = [listedBy(one), listedBy(other)];
  if (values && others) {
    const known = new Set(others.map((value) => canonicalJson(value, spend)));
    return !values.some((value) => known.has(canonicalJson(value, spend)));
  }
  const [types, otherTypes] = [one["type"], other["type"]];
  if (types !== undefined && otherTypes !== undefined) {
    const general = (type: string) => (type === "integer" ? "number" : type);
    const known = new Set(typesOf(types).map(general));
    if (!typesOf(otherTypes).some((type) => known.has(general(type)))) return true;
  }
  const isObject = one["type"] === "object" || other["type"] === "object";
  const needed = (grammar: Keywords) =>
    (Array.isArray(grammar["required"]) ? grammar["required"] : []) as string[];
  const [mine, theirs] = [one["properties"], other["properties"]];
  if (!isObject || !isRecord(mine) || !isRecord(theirs)) return false;
  const [some, all] = [needed(one), new Set(needed(other))];
  spend(some.length + all.size);
  return some.some(
    (name) =>
      all.has(name) &&
      Object.hasOwn(mine, name) &&
      Object.hasOwn(theirs, name) &&
      areApart(open(mine[name]), open(theirs[name]), open, spend),
  );
}

/** Those that `const` or `enum` lists, if one of them does. */
function listedBy(keywords: Keywords): unknown[] | undefined {
  if ("const" in keywords) return [keywords["const"]];
  return Array.isArray(keywords["enum"]) ? (keywords["enum"] as unknown[]) : undefined;
}
