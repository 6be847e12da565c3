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

/** Finds schemas that can't both match a value. */
export function createDisjointness(resolved: ReturnType<typeof createReferences>, spend: Spend) {
  /** Keywords that everything the schema allows certainly satisfies. */
  function certainOf(schema: unknown): Keywords {
    if (!isRecord(schema)) return {};
    const { $ref, allOf, ...own } = keywordsOf(schema, spend);
    const inner = [...($ref === undefined ? [] : [resolved(schema)]), ...((allOf ?? []) as [])];
    const all = [...inner.map(certainOf), own];
    const entries = valuesOf(all, "properties").flatMap((some) =>
      isRecord(some) ? Object.entries(some) : [],
    );
    return {
      ...Object.fromEntries(all.flatMap((one) => Object.entries(one))),
      required: valuesOf(all, "required").flat(),
      properties: Object.fromEntries(entries),
    };
  }

  /** Whether two schemas of the list are certainly disjoint. */
  return (schemas: readonly unknown[]) => {
    const certain = schemas.map(certainOf);
    return (i: number, j: number) => areDisjoint(certain[i]!, certain[j]!, certainOf, spend);
  };
}

/**
 * Whether types, values and required properties show that no JSON matches both schemas.
 * @param certainOf the certain keywords of a property's schema
 */
function areDisjoint(
  one: Keywords,
  other: Keywords,
  certainOf: (schema: unknown) => Keywords,
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
  const requiredBy = (keywords: Keywords) =>
    (Array.isArray(keywords["required"]) ? keywords["required"] : []) as string[];
  const [mine, theirs] = [one["properties"], other["properties"]];
  if (!isObject || !isRecord(mine) || !isRecord(theirs)) return false;
  const [some, all] = [requiredBy(one), new Set(requiredBy(other))];
  spend(some.length + all.size);
  return some.some(
    (name) =>
      all.has(name) &&
      Object.hasOwn(mine, name) &&
      Object.hasOwn(theirs, name) &&
      areDisjoint(certainOf(mine[name]), certainOf(theirs[name]), certainOf, spend),
  );
}

/** The values that `const` or `enum` lists, if there are any. */
function listedBy(keywords: Keywords): unknown[] | undefined {
  if ("const" in keywords) return [keywords["const"]];
  return Array.isArray(keywords["enum"]) ? (keywords["enum"] as unknown[]) : undefined;
}
