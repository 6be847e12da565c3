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
export function createDisjointness(resolveRef: ReturnType<typeof createReferences>, spend: Spend) {
  /** Keywords that a schema certainly implies. Some may be missing. */
  function impliedBy(schema: unknown): Keywords {
    if (!isRecord(schema)) return {};
    const { $ref, allOf, ...own } = keywordsOf(schema, spend);
    const inner = [...($ref === undefined ? [] : [resolveRef(schema)]), ...((allOf ?? []) as [])];
    const all = [...inner.map(impliedBy), own];
    const entries = valuesOf(all, "properties").flatMap((properties) =>
      isRecord(properties) ? Object.entries(properties) : [],
    );
    return {
      ...Object.fromEntries(all.flatMap((keywords) => Object.entries(keywords))),
      required: valuesOf(all, "required").flat(),
      properties: Object.fromEntries(entries),
    };
  }

  /** Whether two schemas of the list are certainly disjoint. */
  return (schemas: readonly unknown[]) => {
    const implied = schemas.map(impliedBy);
    return (i: number, j: number) => areDisjoint(implied[i]!, implied[j]!, impliedBy, spend);
  };
}

/**
 * Whether types, values and required properties show that no JSON matches both schemas.
 * @param impliedBy returns the keywords that a property's schema implies
 */
function areDisjoint(
  a: Keywords,
  b: Keywords,
  impliedBy: (schema: unknown) => Keywords,
  spend: Spend,
): boolean {
  spend(2);
  const [values, otherValues] = [listedBy(a), listedBy(b)];
  if (values && otherValues) {
    const known = new Set(otherValues.map((value) => canonicalJson(value, spend)));
    return !values.some((value) => known.has(canonicalJson(value, spend)));
  }
  const [types, otherTypes] = [a["type"], b["type"]];
  if (types !== undefined && otherTypes !== undefined) {
    const general = (type: string) => (type === "integer" ? "number" : type);
    const known = new Set(typesOf(types).map(general));
    if (!typesOf(otherTypes).some((type) => known.has(general(type)))) return true;
  }
  const isObject = a["type"] === "object" || b["type"] === "object";
  const requiredBy = (keywords: Keywords) =>
    (Array.isArray(keywords["required"]) ? keywords["required"] : []) as string[];
  const [properties, otherProperties] = [a["properties"], b["properties"]];
  if (!isObject || !isRecord(properties) || !isRecord(otherProperties)) return false;
  const [required, otherRequired] = [requiredBy(a), new Set(requiredBy(b))];
  spend(required.length + otherRequired.size);
  return required.some(
    (name) =>
      otherRequired.has(name) &&
      Object.hasOwn(properties, name) &&
      Object.hasOwn(otherProperties, name) &&
      areDisjoint(impliedBy(properties[name]), impliedBy(otherProperties[name]), impliedBy, spend),
  );
}

/** The values that `const` or `enum` lists, if there are any. */
function listedBy(keywords: Keywords): unknown[] | undefined {
  if ("const" in keywords) return [keywords["const"]];
  return Array.isArray(keywords["enum"]) ? (keywords["enum"] as unknown[]) : undefined;
}
