import { type KitError, isKitError } from "../../../protocol/error.ts";
import type { Alternative } from "./facts.ts";
import type { createReferences } from "./references.ts";
import {
  type Keywords,
  type Spend,
  ALL_TYPES,
  countOf,
  keywordsOf,
  listOf,
  recordOf,
  unsupported,
  typesOf,
} from "./schemaNode.ts";

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

/** Turns what schemas do not allow into alternatives. */
export function createNegation({
  alternativesOf,
  product,
  deeper,
  resolved,
  spend,
}: {
  alternativesOf: (schema: unknown) => Alternative[];
  product: (all: readonly (readonly Alternative[])[]) => Alternative[];
  /** Counts how deep it is. */
  deeper: <T>(make: () => T) => T;
  resolved: ReturnType<typeof createReferences>;
  spend: Spend;
}) {
  let problem: KitError | undefined;

  /** Part of what a schema rules out. @throws KitError `REQUEST_INVALID` if no part of it can be named */
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
    throw unsupported(`"not" of "${name}"`);
  }

  return {
    negated,
    /** Parts of a `not` that Kit cannot express: if nothing is left, one of them may have been the answer. */
    problem: () => problem,
  };
}

export function ruled(keywords: Keywords): Alternative[] {
  return [[{ keywords, isSeen: false }]];
}

/** An object without a property. */
export function without(name: string): Alternative[] {
  return ruled({ type: "object", properties: { [name]: false } });
}
