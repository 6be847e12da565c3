import { isRecord } from "../../../protocol/isRecord.ts";
import { createDisjointness } from "./disjointness.ts";
import { once } from "./expressions.ts";
import { createNegation, unevaluated, withoutProperty } from "./negation.ts";
import type { createReferences } from "./references.ts";
import {
  type Keywords,
  type Spend,
  keywordsOf,
  listOf,
  recordOf,
  unsupported,
} from "./schemaNode.ts";

/**
 * Keywords of a schema, without `$ref` and those that combine schemas; also `notValues` and `notPattern`, from a `not`.
 */
export interface KeywordSet {
  keywords: Keywords;
  /** Whether `unevaluatedProperties` and `unevaluatedItems` count what it describes as evaluated. */
  isEvaluated: boolean;
}

/** Keyword sets that must all hold. */
export type Alternative = readonly KeywordSet[];

/** Limit of nested combining keywords. */
const MAX_DEPTH = 64;

/** Converts a schema to disjunctive normal form: a value is valid if one of the alternatives allows it. */
export function createAlternatives(resolved: ReturnType<typeof createReferences>, spend: Spend) {
  let depth = 0;
  const disjointness = createDisjointness(resolved, spend);
  const { negated, problem } = createNegation({ alternativesOf, product, deeper, resolved, spend });

  function deeper<T>(make: () => T): T {
    if (++depth > MAX_DEPTH) throw unsupported(`schemas nested deeper than ${MAX_DEPTH}`);
    try {
      return make();
    } finally {
      depth--;
    }
  }

  function alternativesOf(schema: unknown): Alternative[] {
    if (schema === true) return [[]];
    if (schema === false) return [];
    return deeper(() => read(schema));
  }

  function read(schema: unknown): Alternative[] {
    const {
      $ref,
      $dynamicRef,
      allOf,
      anyOf,
      oneOf,
      not,
      if: condition,
      ...others
    } = keywordsOf(schema, spend);
    const {
      then = true,
      else: otherwise = true,
      dependentRequired,
      dependentSchemas,
      ...more
    } = others;
    const { unevaluatedProperties, unevaluatedItems, ...own } = more;
    const all = [Object.keys(own).length === 0 ? [[]] : evaluated(own)];
    if ($ref !== undefined || $dynamicRef !== undefined)
      all.push(alternativesOf(resolved(schema as Keywords)));
    if (allOf !== undefined) all.push(...listOf("allOf", allOf).map(alternativesOf));
    if (anyOf !== undefined) all.push(listOf("anyOf", anyOf).flatMap(alternativesOf));
    if (oneOf !== undefined) all.push(exactlyOne(listOf("oneOf", oneOf)));
    if (not !== undefined) all.push(negated(not));
    if (condition !== undefined) {
      all.push([
        ...product([alternativesOf(condition), alternativesOf(then)]),
        ...product([negated(condition), alternativesOf(otherwise)]),
      ]);
    }
    const dependents = [
      ...Object.entries(recordOf("dependentRequired", dependentRequired ?? {})).map(
        ([name, required]) => [name, { required: listOf("required", required) }] as const,
      ),
      ...Object.entries(recordOf("dependentSchemas", dependentSchemas ?? {})),
    ];
    for (const [name, one] of dependents) {
      const needed = unevaluated({ type: "object", required: [name] });
      all.push([...withoutProperty(name), ...product([needed, alternativesOf(one)])]);
    }
    return product(all).map((keywordSets) => [
      ...keywordSets,
      ...unevaluatedRest(keywordSets, unevaluatedProperties, unevaluatedItems),
    ]);
  }

  function product(all: readonly (readonly Alternative[])[]): Alternative[] {
    let found: Alternative[] = [[]];
    for (const some of all) {
      if (some.length === 1 && some[0]!.length === 0) continue;
      // Each alternative is copied, with its keyword sets so far.
      spend(found.length * some.length * (1 + (found[0]?.length ?? 0)));
      found = found.flatMap((one) => some.map((other) => [...one, ...other]));
    }
    return found;
  }

  /** Exactly one of these schemas holds. */
  function exactlyOne(schemas: readonly unknown[]): Alternative[] {
    const areDisjoint = disjointness(schemas);
    const negations = schemas.map((one) => once(() => negated(one)));
    return schemas.flatMap((one, i) =>
      product([
        alternativesOf(one),
        ...negations.flatMap((other, j) => (i === j || areDisjoint(i, j) ? [] : [other()])),
      ]),
    );
  }

  return { alternativesOf, disjointness, problem };
}

function evaluated(keywords: Keywords): Alternative[] {
  return [[{ keywords, isEvaluated: true }]];
}

/** The keyword set of `unevaluated…`: constrains everything that the other sets don't describe. */
function unevaluatedRest(
  keywordSets: Alternative,
  properties: unknown,
  items: unknown,
): KeywordSet[] {
  const others = keywordSets
    .filter(({ isEvaluated }) => isEvaluated)
    .map(({ keywords }) => keywords);
  const found: Record<string, unknown> = {};
  const named = (name: string) =>
    Object.fromEntries(
      others
        .flatMap((one) => Object.keys(isRecord(one[name]) ? one[name] : {}))
        .map((key) => [key, true]),
    );
  if (
    properties !== undefined &&
    others.every((one) => one["additionalProperties"] === undefined)
  ) {
    found["properties"] = named("properties");
    found["patternProperties"] = named("patternProperties");
    found["additionalProperties"] = properties;
  }
  const prefixCount = (one: Keywords) => {
    const prefixItems = Array.isArray(one["items"]) ? one["items"] : one["prefixItems"];
    return Array.isArray(prefixItems) ? prefixItems.length : 0;
  };
  const isOpen = (one: Keywords) =>
    one["additionalItems"] === undefined &&
    (one["items"] === undefined || Array.isArray(one["items"]));
  if (items !== undefined && others.every(isOpen)) {
    const count = Math.max(0, ...others.map(prefixCount));
    if (count > 0) found["prefixItems"] = Array.from({ length: count }, () => true);
    found["items"] = items;
  }
  return Object.keys(found).length === 0 ? [] : [{ keywords: found, isEvaluated: true }];
}
