import { KitError } from "../../../protocol/error.ts";
import type { JsonSchema } from "../../../protocol/infer.ts";
import { isRecord } from "../../../protocol/isRecord.ts";
import { WholeFloat, stringifyJson } from "../../../protocol/json.ts";
import { arrayGrammar } from "./arrayGrammar.ts";
import { ANY, characterOf, textsOf } from "./characters.ts";
import { encodeUtf8 } from "./encodeUtf8.ts";
import type { Expression } from "./expression.ts";
import type { Expressions } from "./expressions.ts";
import { createFacts } from "./facts.ts";
import { listGrammar } from "./listGrammar.ts";
import { numberGrammar } from "./numberGrammar.ts";
import { numbersOf } from "./numbers.ts";
import { objectGrammar } from "./objectGrammar.ts";
import { createReferences } from "./references.ts";
import {
  type Keywords,
  type CompileContext,
  ALL_TYPES,
  commonTypes,
  keywordsOf,
  listOf,
  unsupported,
  canonicalJson,
  typesOf,
  valuesOf,
} from "./schemaNode.ts";
import { ANY_TEXT, anyString, stringGrammar, textWith } from "./stringGrammar.ts";
import { tooLarge } from "./work.ts";

const SCALARS = ALL_TYPES.slice(2);
/** Keywords that imply a type where a schema names none. */
const TYPE_OF: readonly (readonly [type: string, keywords: readonly string[]])[] = [
  [
    "object",
    [
      ...["properties", "patternProperties", "required", "additionalProperties", "propertyNames"],
      ...["minProperties", "maxProperties"],
    ],
  ],
  [
    "array",
    [
      ...["items", "prefixItems", "minItems", "maxItems", "additionalItems", "uniqueItems"],
      "contains",
    ],
  ],
  ["string", ["minLength", "maxLength", "pattern", "format"]],
  ["number", ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]],
];

interface Body {
  schema: unknown;
  isCanonical: boolean;
  rule: Expression;
  body: Expression | undefined;
  read: () => Expression;
}

/** Limits: nesting of schemas, and schemas read in all. */
const MAX_DEPTH = 64;
const MAX_SCHEMAS = 20_000;

/**
 * The JSON that a schema allows, without white space between: properties in the order in which the schema has them,
 * and only as much as it says where it leaves more open.
 * @param scope tells schemas of one grammar apart
 * @throws KitError `REQUEST_INVALID` naming a keyword that it is not held to
 */
export function schemaGrammar(grammar: Expressions, root: JsonSchema, scope = ""): Expression {
  try {
    return readGrammar(grammar, root, scope);
  } catch (error) {
    // Deeper than the stack.
    throw error instanceof RangeError ? tooLarge() : error;
  }
}

function readGrammar(grammar: Expressions, root: JsonSchema, scope: string): Expression {
  const { spendSteps: spend } = grammar;
  const resolved = createReferences(root, spend);
  const { alternativesOf, apartness, problem } = createFacts(resolved, spend);
  /** What each schema behind a `$ref` allows, found before an answer begins. */
  const bodies: Body[] = [];
  /** What schemas allow together, once it is found. */
  const together = new Map<string, { found: Expression | undefined }>();
  const numbers = new Map<unknown, number>();
  let depth = 0;
  let count = 0;
  const context: CompileContext = {
    grammar,
    character: characterOf(grammar, ANY),
    grammarOf,
    isCanonical: false,
    missing: undefined,
  };

  function grammarOf(...schemas: unknown[]): Expression {
    if (++count > MAX_SCHEMAS) throw unsupported(`more than ${MAX_SCHEMAS} schemas`);
    if (++depth > MAX_DEPTH) throw unsupported(`schemas deeper than ${MAX_DEPTH}`);
    try {
      const some = [...new Set(schemas)].filter((schema) => schema !== true);
      if (some.includes(false)) return grammar.none;
      const [first] = some;
      if (first === undefined) return anyValue();
      return some.length > 1 ? allOf(some) : ofSchema(first);
    } finally {
      depth--;
    }
  }

  function ofSchema(schema: unknown): Expression {
    const keywords = keywordsOf(schema, spend);
    const names = Object.keys(keywords);
    if (names.length === 0) return anyValue();
    if (names.length > 1) return allOf([schema]);
    const { $ref, allOf: all, anyOf, oneOf } = keywords;
    if ($ref !== undefined) return ruleOf(resolved(schema as Keywords));
    if (anyOf !== undefined)
      return grammar.either(...listOf("anyOf", anyOf).map((one) => grammarOf(one)));
    if (Array.isArray(all) && all.length === 1) return grammarOf(all[0]);
    if (oneOf !== undefined && areApart(listOf("oneOf", oneOf))) {
      return grammar.either(...listOf("oneOf", oneOf).map((one) => grammarOf(one)));
    }
    return allOf([schema]);
  }

  /** Recursion is a rule. */
  function allOf(schemas: readonly unknown[]): Expression {
    const key = `${context.isCanonical ? "plain " : ""}${schemas.map(numberOf).join()}`;
    const known = together.get(key);
    if (known) {
      return (
        known.found ?? grammar.rule(`${scope} ${key}`, () => notNone(known.found ?? grammar.none))
      );
    }
    const made: { found: Expression | undefined } = { found: undefined };
    together.set(key, made);
    const alternatives = alternativesOf(schemas.length > 1 ? { allOf: schemas } : schemas[0]);
    made.found = grammar.either(
      ...alternatives.map((keywordSets) => ofFacts(keywordSets.map(({ keywords }) => keywords))),
    );
    return made.found;
  }

  function numberOf(schema: unknown): number {
    if (!numbers.has(schema)) numbers.set(schema, numbers.size);
    return numbers.get(schema)!;
  }

  function ruleOf(schema: unknown): Expression {
    const { isCanonical } = context;
    const known = bodies.find((one) => one.schema === schema && one.isCanonical === isCanonical);
    if (known) return known.rule;
    const read = () => {
      context.isCanonical = isCanonical;
      return notNone(grammarOf(schema));
    };
    const made: Body = {
      schema,
      isCanonical,
      read,
      body: undefined,
      rule: grammar.rule(`${scope} $ref ${bodies.length}`, () => (made.body ??= read())),
    };
    bodies.push(made);
    return made.rule;
  }

  /** Reads what is behind each `$ref`, and whether that begins with itself. */
  function readRules(): void {
    for (const one of bodies) one.body = one.read();
    for (const { rule } of bodies) grammar.derivative(rule, 0);
  }

  function areApart(schemas: readonly unknown[]): boolean {
    const values = schemas.flatMap((one) =>
      isRecord(one) && "const" in one ? [canonicalJson(one["const"], spend)] : [],
    );
    if (values.length === schemas.length && new Set(values).size === values.length) return true;
    const apart = apartness(schemas);
    return schemas.every((_, i) => schemas.every((__, j) => j <= i || apart(i, j)));
  }

  function ofFacts(keywordSets: readonly Keywords[]): Expression {
    const types = typesAsked(keywordSets);
    const lists = keywordSets.flatMap((fact) => [
      ...("enum" in fact ? [listOf("enum", fact["enum"])] : []),
      ...("const" in fact ? [[fact["const"]]] : []),
    ]);
    const [first, ...others] = lists;
    if (!first) return grammar.either(...types.map((type) => ofType(type, keywordSets)));
    const texts = others.map((some) => new Set(some.map((one) => canonicalJson(one, spend))));
    const held = first.filter((value) => {
      const text = canonicalJson(value, spend);
      return types.some((type) => isOfType(value, type)) && texts.every((some) => some.has(text));
    });
    const more = keywordSets.map(({ enum: _, const: __, type: ___, ...beside }) => beside);
    if (more.every((one) => Object.keys(one).length === 0)) return valuesGrammar(held);
    const left = held.filter((value) => {
      const type = [...ALL_TYPES].find((one) => isOfType(value, one))!;
      return isIn(ofType(type, [...more, ANY_TEXT]), canonicalJson(value, spend));
    });
    const isFormat = left.length === 0 && valuesOf(more, "format").length > 0;
    if (isFormat) context.missing ??= textWith(keywordSets);
    return valuesGrammar(left);
  }

  function valuesGrammar(values: readonly unknown[]): Expression {
    return textsOf(
      grammar,
      values.map((value) => stringifyJson(value) ?? ""),
    );
  }

  function isIn(some: Expression, text: string): boolean {
    let left = some;
    for (const byte of encodeUtf8(text)) {
      spend(1);
      left = grammar.derivative(left, byte.charCodeAt(0));
    }
    return left.isNullable;
  }

  /** The types that all allow, or that their keywords are about. */
  function typesAsked(keywordSets: readonly Keywords[]): string[] {
    const asked = valuesOf(keywordSets, "type").map(typesOf);
    if (asked.length > 0) return asked.reduce(commonTypes);
    const meant = TYPE_OF.filter(([, names]) =>
      names.some((name) => keywordSets.some((fact) => name in fact)),
    );
    return meant.length > 0 ? meant.map(([name]) => name) : ALL_TYPES;
  }

  function ofType(type: string, keywordSets: readonly Keywords[]): Expression {
    switch (type) {
      case "object":
        return objectGrammar(context, keywordSets, isIn);
      case "array":
        return arrayGrammar(context, keywordSets);
      case "string":
        return stringGrammar(context, keywordSets);
      case "number":
      case "integer":
        return numberGrammar(context, type, keywordSets);
      default: {
        const out = valuesOf(keywordSets, "notValues").flat();
        const words = type === "boolean" ? [true, false] : [null];
        return valuesGrammar(words.filter((word) => !out.includes(word)));
      }
    }
  }

  /** Any JSON value, expanded lazily. */
  function anyValue(): Expression {
    if (context.isCanonical) return grammar.either(...SCALARS.map((type) => ofType(type, [])));
    return grammar.rule("any", () => {
      const [value, string] = [anyValue(), anyString(context)];
      const member = grammar.sequence(string, grammar.text(":"), value);
      return grammar.either(
        ...["true", "false", "null"].map((word) => grammar.text(word)),
        string,
        numbersOf(grammar, { least: undefined, most: undefined }),
        grammar.sequence(grammar.text("["), listGrammar(grammar, [], value), grammar.text("]")),
        grammar.sequence(grammar.text("{"), listGrammar(grammar, [], member), grammar.text("}")),
      );
    });
  }

  function notNone(found: Expression): Expression {
    if (found !== grammar.none) return found;
    const unknown = problem();
    if (unknown) throw unknown;
    throw new KitError(
      "REQUEST_INVALID",
      `The schema allows no answer: ${context.missing ? `there is no ${context.missing}` : "what it asks for contradicts itself"}. Fix it, or remove a part.`,
    );
  }

  const found = notNone(grammarOf(root));
  readRules();
  return found;
}

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case "object":
      return isRecord(value);
    case "array":
      return Array.isArray(value);
    case "null":
      return value === null;
    case "number":
      return isNumber(value);
    case "integer":
      return isNumber(value) && Number.isInteger(Number(value));
    default:
      return typeof value === type;
  }
}

function isNumber(value: unknown): boolean {
  return typeof value === "number" || typeof value === "bigint" || value instanceof WholeFloat;
}
