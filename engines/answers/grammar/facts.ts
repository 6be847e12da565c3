import { type KitError, isKitError } from "../../../protocol/error.ts";
import { isRecord } from "../../../protocol/isRecord.ts";
import { areApart } from "./apart.ts";
import { once } from "./expressions.ts";
import type { createReferences } from "./references.ts";
import {
  type Keywords,
  type Spend,
  ALL_TYPES,
  countOf,
  keywordsOf,
  listOf,
  recordOf,
  refused,
  typesOf,
  valuesOf,
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

/** What rules a bound out: of which type, and by how much more. */
const OPPOSITES: Partial<Record<string, readonly [type: string, name: string, step: number]>> = {
  minimum: ["number", "exclusiveMaximum", 0],
  maximum: ["number", "exclusiveMinimum", 0],
  exclusiveMinimum: ["number", "maximum", 0],
  exclusiveMaximum: ["number", "minimum", 0],
  minLength: ["string", "maxLength", -1],
  maxLength: ["string", "minLength", 1],
  minItems: ["array", "maxItems", -1],
  maxItems: ["array", "minItems", 1],
  minProperties: ["object", "maxProperties", -1],
  maxProperties: ["object", "minProperties", 1],
};

/** Limit of schemas within a value that combine others. */
const DEEPEST = 64;

/** Turns a schema into alternatives: whatever one of them allows is valid. */
export function createFacts(resolved: ReturnType<typeof createReferences>, spend: Spend) {
  let depth = 0;
  let problem: KitError | undefined;

  function deeper<T>(make: () => T): T {
    if (++depth > DEEPEST) throw refused(`schemas deeper than ${DEEPEST}`);
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
    for (const [name, names] of Object.entries(
      recordOf("dependentRequired", dependentRequired ?? {}),
    )) {
      all.push([
        ...without(name),
        ...ruled({ type: "object", required: [name, ...listOf("required", names)] }),
      ]);
    }
    for (const [name, one] of Object.entries(
      recordOf("dependentSchemas", dependentSchemas ?? {}),
    )) {
      all.push([
        ...without(name),
        ...product([ruled({ type: "object", required: [name] }), alternativesOf(one)]),
      ]);
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

  /** Whether two of a list can be seen not to hold at once. */
  function apartness(schemas: readonly unknown[]): (i: number, j: number) => boolean {
    const opened = schemas.map(open);
    return (i, j) => areApart(opened[i]!, opened[j]!, open, spend);
  }

  /** Keywords that hold of what a schema allows, for certain. */
  function open(schema: unknown): Keywords {
    if (!isRecord(schema)) return {};
    return deeper(() => {
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
    });
  }

  /** Some of what a schema does not allow. @throws KitError `REQUEST_INVALID` if none of it can be told */
  function negated(schema: unknown): Alternative[] {
    if (schema === true) return [];
    if (schema === false) return [[]];
    const keywords = keywordsOf(schema, spend);
    const found: Alternative[] = [];
    let unknown: KitError | undefined;
    for (const [name, value] of Object.entries(keywords)) {
      try {
        found.push(...deeper(() => negatedKeyword(name, value, { keywords, schema })));
      } catch (error) {
        if (!isKitError(error)) throw error;
        unknown ??= error;
      }
    }
    problem ??= unknown;
    if (found.length === 0 && unknown) throw unknown;
    return found.map((facts) =>
      facts.map(({ keywords: one }) => ({ keywords: one, isSeen: false })),
    );
  }

  function negatedKeyword(
    name: string,
    value: unknown,
    { keywords, schema }: { keywords: Keywords; schema: unknown },
  ): Alternative[] {
    const opposite = OPPOSITES[name];
    if (opposite) {
      const [type, other, step] = opposite;
      if (step === 0) return ruled({ type, [other]: value });
      const count = countOf(name, value) + step;
      return count < 0 ? [] : ruled({ type, [other]: count });
    }
    const each = () => listOf(name, value);
    switch (name) {
      case "type": {
        const types = typesOf(value).map((type) => (type === "integer" ? "number" : type));
        return ruled({ type: ALL_TYPES.filter((type) => !types.includes(type)) });
      }
      case "const":
        return ruled({ notValues: [value] });
      case "enum":
        return ruled({ notValues: each() });
      case "pattern":
        return ruled({ type: "string", notPattern: value });
      case "required":
        return each().flatMap((one) => without(String(one)));
      case "properties":
        return Object.entries(recordOf(name, value)).flatMap(([key, one]) => {
          return negated(one).length === 0
            ? []
            : ruled({ type: "object", required: [key], properties: { [key]: { not: one } } });
        });
      case "prefixItems":
        return each().flatMap((one, i) => {
          const places = [
            ...each()
              .slice(0, i)
              .map(() => true),
            { not: one },
          ];
          return negated(one).length === 0
            ? []
            : ruled({ type: "array", minItems: i + 1, prefixItems: places });
        });
      case "items":
        if (Array.isArray(value) || keywords["prefixItems"] !== undefined) break;
        return negated(value).length === 0
          ? []
          : ruled({ type: "array", contains: { not: value } });
      case "contains":
        if (keywords["minContains"] !== undefined || keywords["maxContains"] !== undefined) break;
        return ruled({ type: "array", items: { not: value } });
      case "$ref":
      case "$dynamicRef":
        return negated(resolved(schema as Keywords));
      case "allOf":
        return each().flatMap(negated);
      case "anyOf":
        return product(each().map(negated));
      case "oneOf":
        return [
          ...product(each().map(negated)),
          ...each().flatMap((one, i) =>
            each()
              .slice(i + 1)
              .flatMap((other) => product([alternativesOf(one), alternativesOf(other)])),
          ),
        ];
      case "not":
        return alternativesOf(value);
      case "if":
        return [
          ...product([alternativesOf(value), negated(keywords["then"] ?? true)]),
          ...product([negated(value), negated(keywords["else"] ?? true)]),
        ];
      case "then":
      case "else":
      case "minContains":
      case "maxContains":
        return [];
    }
    throw refused(`"not" of "${name}"`);
  }

  return {
    ...{ alternativesOf, apartness },
    /** What of a `not` cannot be told first: where nothing is left, that may have been. */
    problem: () => problem,
  };
}

function seen(keywords: Keywords): Alternative[] {
  return [[{ keywords, isSeen: true }]];
}

function ruled(keywords: Keywords): Alternative[] {
  return [[{ keywords, isSeen: false }]];
}

/** An object without a property. */
function without(name: string): Alternative[] {
  return ruled({ type: "object", properties: { [name]: false } });
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
