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
 * A schema's keywords, except `$ref` and those that combine schemas. `notValues` and `notPattern` come from a `not`.
 */
export interface KeywordSet {
  keywords: Keywords;
  /** Whether `unevaluatedProperties` and `unevaluatedItems` count the properties and items that it describes. */
  isEvaluated: boolean;
}

/** Keyword sets that must all hold. */
export type Alternative = readonly KeywordSet[];

/** Maximum nesting of keywords that combine schemas. */
const MAX_DEPTH = 64;

/** Converts a schema to disjunctive normal form: a value is valid if one of the alternatives allows it. */
export function createAlternatives(resolveRef: ReturnType<typeof createReferences>, spend: Spend) {
  let depth = 0;
  const disjointness = createDisjointness(resolveRef, spend);
  const { negated, problem } = createNegation({
    alternativesOf,
    product,
    nest,
    resolveRef,
    spend,
  });

  function nest<T>(make: () => T): T {
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
    return nest(() => expand(schema));
  }

  function expand(schema: unknown): Alternative[] {
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
    const { unevaluatedProperties, unevaluatedItems, ...simple } = more;
    const factors = [Object.keys(simple).length === 0 ? [[]] : evaluated(simple)];
    if ($ref !== undefined || $dynamicRef !== undefined)
      factors.push(alternativesOf(resolveRef(schema as Keywords)));
    if (allOf !== undefined) factors.push(...listOf("allOf", allOf).map(alternativesOf));
    if (anyOf !== undefined) factors.push(listOf("anyOf", anyOf).flatMap(alternativesOf));
    if (oneOf !== undefined) factors.push(exactlyOne(listOf("oneOf", oneOf)));
    if (not !== undefined) factors.push(negated(not));
    if (condition !== undefined) {
      factors.push([
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
    for (const [name, dependent] of dependents) {
      const present = unevaluated({ type: "object", required: [name] });
      factors.push([...withoutProperty(name), ...product([present, alternativesOf(dependent)])]);
    }
    return product(factors).map((keywordSets) => [
      ...keywordSets,
      ...unevaluatedRest(keywordSets, unevaluatedProperties, unevaluatedItems),
    ]);
  }

  /** The conjunction of several disjunctions, as one disjunction. */
  function product(factors: readonly (readonly Alternative[])[]): Alternative[] {
    let found: Alternative[] = [[]];
    for (const factor of factors) {
      if (factor.length === 1 && factor[0]!.length === 0) continue;
      // Each alternative is copied, with its keyword sets so far.
      spend(found.length * factor.length * (1 + (found[0]?.length ?? 0)));
      found = found.flatMap((left) => factor.map((right) => [...left, ...right]));
    }
    return found;
  }

  /** Exactly one of these schemas holds. */
  function exactlyOne(schemas: readonly unknown[]): Alternative[] {
    const areDisjoint = disjointness(schemas);
    const negations = schemas.map((schema) => once(() => negated(schema)));
    return schemas.flatMap((schema, i) =>
      product([
        alternativesOf(schema),
        ...negations.flatMap((negation, j) => (i === j || areDisjoint(i, j) ? [] : [negation()])),
      ]),
    );
  }

  return { alternativesOf, disjointness, problem };
}

function evaluated(keywords: Keywords): Alternative[] {
  return [[{ keywords, isEvaluated: true }]];
}

/** The keyword set of `unevaluatedProperties` and `unevaluatedItems`: constrains what the other sets don't describe. */
function unevaluatedRest(
  keywordSets: Alternative,
  properties: unknown,
  items: unknown,
): KeywordSet[] {
  const others = keywordSets
    .filter(({ isEvaluated }) => isEvaluated)
    .map(({ keywords }) => keywords);
  const found: Record<string, unknown> = {};
  const anyValueOf = (name: string) =>
    Object.fromEntries(
      others
        .flatMap((keywords) => Object.keys(isRecord(keywords[name]) ? keywords[name] : {}))
        .map((key) => [key, true]),
    );
  if (
    properties !== undefined &&
    others.every((keywords) => keywords["additionalProperties"] === undefined)
  ) {
    found["properties"] = anyValueOf("properties");
    found["patternProperties"] = anyValueOf("patternProperties");
    found["additionalProperties"] = properties;
  }
  const prefixCount = (set: Keywords) => {
    const prefixItems = Array.isArray(set["items"]) ? set["items"] : set["prefixItems"];
    return Array.isArray(prefixItems) ? prefixItems.length : 0;
  };
  const hasNoRest = (set: Keywords) =>
    set["additionalItems"] === undefined &&
    (set["items"] === undefined || Array.isArray(set["items"]));
  if (items !== undefined && others.every(hasNoRest)) {
    const count = Math.max(0, ...others.map(prefixCount));
    if (count > 0) found["prefixItems"] = Array.from({ length: count }, () => true);
    found["items"] = items;
  }
  return Object.keys(found).length === 0 ? [] : [{ keywords: found, isEvaluated: true }];
}
