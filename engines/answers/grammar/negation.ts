import { type KitError, isKitError } from "../../../protocol/error.ts";
import type { Alternative } from "./alternatives.ts";
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

/** The opposite of a bound: its type, keyword, and difference in value. */
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

export function createNegation({
  alternativesOf,
  product,
  nest,
  resolveRef,
  spend,
}: {
  alternativesOf: (schema: unknown) => Alternative[];
  product: (all: readonly (readonly Alternative[])[]) => Alternative[];
  /** Calls `make` one level deeper. */
  nest: <T>(make: () => T) => T;
  resolveRef: ReturnType<typeof createReferences>;
  spend: Spend;
}) {
  let problem: KitError | undefined;

  /**
   * The values that a schema forbids, as far as Kit can express them.
   * @throws KitError `REQUEST_INVALID` if it can express none of them
   */
  function negated(schema: unknown): Alternative[] {
    if (schema === true) return [];
    if (schema === false) return [[]];
    const keywords = keywordsOf(schema, spend);
    const found: Alternative[] = [];
    let firstError: KitError | undefined;
    for (const [name, value] of Object.entries(keywords)) {
      try {
        found.push(...nest(() => negatedKeyword(name, value, { keywords, schema })));
      } catch (error) {
        if (!isKitError(error)) throw error;
        firstError ??= error;
      }
    }
    problem ??= firstError;
    if (found.length === 0 && firstError) throw firstError;
    return found.map((keywordSets) => keywordSets.map((set) => ({ ...set, isEvaluated: false })));
  }

  function negatedKeyword(
    name: string,
    value: unknown,
    { keywords, schema }: { keywords: Keywords; schema: unknown },
  ): Alternative[] {
    const opposite = OPPOSITES[name];
    if (opposite) {
      const [type, other, step] = opposite;
      if (step === 0) return unevaluated({ type, [other]: value });
      const count = countOf(name, value) + step;
      return count < 0 ? [] : unevaluated({ type, [other]: count });
    }
    const items = () => listOf(name, value);
    switch (name) {
      case "type": {
        const types = typesOf(value).map((type) => (type === "integer" ? "number" : type));
        return unevaluated({ type: ALL_TYPES.filter((type) => !types.includes(type)) });
      }
      case "const":
        return unevaluated({ notValues: [value] });
      case "enum":
        return unevaluated({ notValues: items() });
      case "pattern":
        return unevaluated({ type: "string", notPattern: value });
      case "required":
        return items().flatMap((property) => withoutProperty(String(property)));
      case "properties":
        return Object.entries(recordOf(name, value)).flatMap(([key, schema]) => {
          return negated(schema).length === 0
            ? []
            : unevaluated({
                type: "object",
                required: [key],
                properties: { [key]: { not: schema } },
              });
        });
      case "prefixItems":
        return items().flatMap((item, i) => {
          const prefixItems = [
            ...items()
              .slice(0, i)
              .map(() => true),
            { not: item },
          ];
          return negated(item).length === 0
            ? []
            : unevaluated({ type: "array", minItems: i + 1, prefixItems });
        });
      case "items":
        if (Array.isArray(value) || keywords["prefixItems"] !== undefined) break;
        return negated(value).length === 0
          ? []
          : unevaluated({ type: "array", contains: { not: value } });
      case "contains":
        if (keywords["minContains"] !== undefined || keywords["maxContains"] !== undefined) break;
        return unevaluated({ type: "array", items: { not: value } });
      case "$ref":
      case "$dynamicRef":
        return negated(resolveRef(schema as Keywords));
      case "allOf":
        return items().flatMap(negated);
      case "anyOf":
        return product(items().map(negated));
      case "oneOf":
        return [
          ...product(items().map(negated)),
          ...items().flatMap((branch, i) =>
            items()
              .slice(i + 1)
              .flatMap((other) => product([alternativesOf(branch), alternativesOf(other)])),
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
    /** The first part of a `not` that Kit can't express; the reason to name if no answer remains. */
    problem: () => problem,
  };
}

/** Keywords whose properties and items don't count as evaluated. */
export function unevaluated(keywords: Keywords): Alternative[] {
  return [[{ keywords, isEvaluated: false }]];
}

export function withoutProperty(name: string): Alternative[] {
  return unevaluated({ type: "object", properties: { [name]: false } });
}
