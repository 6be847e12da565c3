import { isRecord } from "../../../protocol/isRecord.ts";
import { createApartness } from "./apartness.ts";
import { once } from "./expressions.ts";
import { createNegation, ruled, without } from "./negation.ts";
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
 * Keywords that hold of a value itself and of its parts, without `$ref` and those that combine schemas; and of what
 * a `not` rules out, `notValues` and `notPattern`.
 */
export interface Fact {
  keywords: Keywords;
  /** Whether `unevaluatedProperties` and `unevaluatedItems` take what it describes for evaluated. */
  isSeen: boolean;
}

/** Facts that hold together. */
export type Alternative = readonly Fact[];

/** Limit of schemas within a value that combine others. */
const MAX_DEPTH = 64;

/** Turns a schema into alternatives: whatever one of them allows is valid. */
export function createFacts(resolved: ReturnType<typeof createReferences>, spend: Spend) {
  let depth = 0;
  const apartness = createApartness(resolved, spend);
  const { negated, problem } = createNegation({ alternativesOf, product, deeper, resolved, spend });

  function deeper<T>(make: () => T): T {
    if (++depth > MAX_DEPTH) throw unsupported(`schemas deeper than ${MAX_DEPTH}`);
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
    const all = [Object.keys(own).length === 0 ? [[]] : seen(own)];
    if ($ref !== undefined || $dynamicRef !== undefined)
      all.push(alternativesOf(resolved(schema as Keywords)));
    if (allOf !== undefined) all.push(...listOf("allOf", allOf).map(alternativesOf));
    if (anyOf !== undefined) all.push(listOf("anyOf", anyOf).flatMap(alternativesOf));
    if (oneOf !== undefined) all.push(oneOfThem(listOf("oneOf", oneOf)));
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
      const needed = ruled({ type: "object", required: [name] });
      all.push([...without(name), ...product([needed, alternativesOf(one)])]);
    }
    return product(all).map((facts) => [
      ...facts,
      ...closing(facts, unevaluatedProperties, unevaluatedItems),
    ]);
  }

  function product(all: readonly (readonly Alternative[])[]): Alternative[] {
    let found: Alternative[] = [[]];
    for (const some of all) {
      if (some.length === 1 && some[0]!.length === 0) continue;
      // Each is copied, with all that came before it.
      spend(found.length * some.length * (1 + (found[0]?.length ?? 0)));
      found = found.flatMap((one) => some.map((other) => [...one, ...other]));
    }
    return found;
  }

  /** One of these holds and no other. */
  function oneOfThem(schemas: readonly unknown[]): Alternative[] {
    const apart = apartness(schemas);
    const negations = schemas.map((one) => once(() => negated(one)));
    return schemas.flatMap((one, i) =>
      product([
        alternativesOf(one),
        ...negations.flatMap((other, j) => (i === j || apart(i, j) ? [] : [other()])),
      ]),
    );
  }

  return { alternativesOf, apartness, problem };
}

function seen(keywords: Keywords): Alternative[] {
  return [[{ keywords, isSeen: true }]];
}

/** What `unevaluated…` asks of all that no fact beside it describes. */
function closing(facts: Alternative, properties: unknown, items: unknown): Fact[] {
  const beside = facts.filter(({ isSeen }) => isSeen).map(({ keywords }) => keywords);
  const found: Record<string, unknown> = {};
  const named = (name: string) =>
    Object.fromEntries(
      beside
        .flatMap((one) => Object.keys(isRecord(one[name]) ? one[name] : {}))
        .map((key) => [key, true]),
    );
  if (
    properties !== undefined &&
    beside.every((one) => one["additionalProperties"] === undefined)
  ) {
    found["properties"] = named("properties");
    found["patternProperties"] = named("patternProperties");
    found["additionalProperties"] = properties;
  }
  const placesOf = (one: Keywords) => {
    const places = Array.isArray(one["items"]) ? one["items"] : one["prefixItems"];
    return Array.isArray(places) ? places.length : 0;
  };
  const isOpen = (one: Keywords) =>
    one["additionalItems"] === undefined &&
    (one["items"] === undefined || Array.isArray(one["items"]));
  if (items !== undefined && beside.every(isOpen)) {
    const count = Math.max(0, ...beside.map(placesOf));
    if (count > 0) found["prefixItems"] = Array.from({ length: count }, () => true);
    found["items"] = items;
  }
  return Object.keys(found).length === 0 ? [] : [{ keywords: found, isSeen: true }];
}
