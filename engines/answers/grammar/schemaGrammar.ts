import { KitError } from "../../../protocol/error.ts";
import type { JsonSchema } from "../../../protocol/infer.ts";
import { isRecord } from "../../../protocol/isRecord.ts";
import { WholeFloat, stringifyJson } from "../../../protocol/json.ts";
import { createAlternatives } from "./alternatives.ts";
import { arrayGrammar } from "./arrayGrammar.ts";
import { tooLarge } from "./budget.ts";
import { ANY_CHAR, characterOf, textsOf } from "./characters.ts";
import { encodeUtf8 } from "./encodeUtf8.ts";
import type { Expression } from "./expression.ts";
import type { Expressions } from "./expressions.ts";
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
import { ANY_TEXT, anyString, stringGrammar, describeString } from "./stringGrammar.ts";

const SCALARS = ALL_TYPES.slice(2);
/** If a schema names no type, its keywords imply some. */
const IMPLIED_TYPES: readonly (readonly [type: string, keywords: readonly string[]])[] = [
  [
    "object",
    [
      "properties",
      "patternProperties",
      "required",
      "additionalProperties",
      "propertyNames",
      "minProperties",
      "maxProperties",
    ],
  ],
  [
    "array",
    ["items", "prefixItems", "minItems", "maxItems", "additionalItems", "uniqueItems", "contains"],
  ],
  ["string", ["minLength", "maxLength", "pattern", "format"]],
  ["number", ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]],
];

/** The target of a `$ref`. */
interface RefTarget {
  schema: unknown;
  isCanonical: boolean;
  rule: Expression;
  /** Undefined until compiled. */
  body: Expression | undefined;
  compile: () => Expression;
}

/** Maximum nesting of schemas. */
const MAX_DEPTH = 64;
const MAX_SCHEMAS = 20_000;

/**
 * The JSON that a schema allows, without white space. Properties are in the schema's order; those that it doesn't mention
 * are left out.
 * @param scope distinguishes several schemas of a grammar
 * @throws KitError `REQUEST_INVALID` naming an unsupported keyword
 */
export function schemaGrammar(grammar: Expressions, root: JsonSchema, scope = ""): Expression {
  try {
    return compileGrammar(grammar, root, scope);
  } catch (error) {
    // Nested deeper than the stack.
    throw error instanceof RangeError ? tooLarge() : error;
  }
}

function compileGrammar(grammar: Expressions, root: JsonSchema, scope: string): Expression {
  const { spendSteps: spend } = grammar;
  const resolveRef = createReferences(root, spend);
  const { alternativesOf, disjointness, problem } = createAlternatives(resolveRef, spend);
  /** Compiled before an answer begins. */
  const refTargets: RefTarget[] = [];
  /** Compiled intersections, by key; undefined while compiling. */
  const intersections = new Map<string, { found: Expression | undefined }>();
  const schemaIds = new Map<unknown, number>();
  let depth = 0;
  let count = 0;
  const context: CompileContext = {
    grammar,
    character: characterOf(grammar, ANY_CHAR),
    grammarOf,
    isCanonical: false,
    missing: undefined,
  };

  function grammarOf(...schemas: unknown[]): Expression {
    if (++count > MAX_SCHEMAS) throw unsupported(`more than ${MAX_SCHEMAS} schemas`);
    if (++depth > MAX_DEPTH) throw unsupported(`schemas nested deeper than ${MAX_DEPTH}`);
    try {
      const restrictive = [...new Set(schemas)].filter((schema) => schema !== true);
      if (restrictive.includes(false)) return grammar.none;
      const [first] = restrictive;
      if (first === undefined) return anyValue();
      return restrictive.length > 1 ? allOf(restrictive) : schemaExpression(first);
    } finally {
      depth--;
    }
  }

  function schemaExpression(schema: unknown): Expression {
    const keywords = keywordsOf(schema, spend);
    const names = Object.keys(keywords);
    if (names.length === 0) return anyValue();
    if (names.length > 1) return allOf([schema]);
    const { $ref, allOf: all, anyOf, oneOf } = keywords;
    if ($ref !== undefined) return ruleOf(resolveRef(schema as Keywords));
    if (anyOf !== undefined)
      return grammar.either(...listOf("anyOf", anyOf).map((branch) => grammarOf(branch)));
    if (Array.isArray(all) && all.length === 1) return grammarOf(all[0]);
    if (oneOf !== undefined && allDisjoint(listOf("oneOf", oneOf))) {
      return grammar.either(...listOf("oneOf", oneOf).map((branch) => grammarOf(branch)));
    }
    return allOf([schema]);
  }

  /** The values that all schemas allow. A schema that is still being compiled becomes a rule, for recursion. */
  function allOf(schemas: readonly unknown[]): Expression {
    const key = `${context.isCanonical ? "canonical " : ""}${schemas.map(idOf).join()}`;
    const existing = intersections.get(key);
    if (existing) {
      return (
        existing.found ??
        grammar.rule(`${scope} ${key}`, () => assertNotNone(existing.found ?? grammar.none))
      );
    }
    const made: { found: Expression | undefined } = { found: undefined };
    intersections.set(key, made);
    const alternatives = alternativesOf(schemas.length > 1 ? { allOf: schemas } : schemas[0]);
    made.found = grammar.either(
      ...alternatives.map((keywordSets) =>
        keywordSetsExpression(keywordSets.map(({ keywords }) => keywords)),
      ),
    );
    return made.found;
  }

  function idOf(schema: unknown): number {
    if (!schemaIds.has(schema)) schemaIds.set(schema, schemaIds.size);
    return schemaIds.get(schema)!;
  }

  function ruleOf(schema: unknown): Expression {
    const { isCanonical } = context;
    const existing = refTargets.find(
      (target) => target.schema === schema && target.isCanonical === isCanonical,
    );
    if (existing) return existing.rule;
    const compile = () => {
      context.isCanonical = isCanonical;
      return assertNotNone(grammarOf(schema));
    };
    const made: RefTarget = {
      schema,
      isCanonical,
      compile,
      body: undefined,
      rule: grammar.rule(`${scope} $ref ${refTargets.length}`, () => (made.body ??= compile())),
    };
    refTargets.push(made);
    return made.rule;
  }

  /** Compiles the targets of all `$ref`s, and refuses left recursion. */
  function compileRules(): void {
    for (const target of refTargets) target.body = target.compile();
    for (const { rule } of refTargets) grammar.derivative(rule, 0);
  }

  function allDisjoint(schemas: readonly unknown[]): boolean {
    const values = schemas.flatMap((schema) =>
      isRecord(schema) && "const" in schema ? [canonicalJson(schema["const"], spend)] : [],
    );
    if (values.length === schemas.length && new Set(values).size === values.length) return true;
    const areDisjoint = disjointness(schemas);
    return schemas.every((_, i) => schemas.every((__, j) => j <= i || areDisjoint(i, j)));
  }

  function keywordSetsExpression(keywordSets: readonly Keywords[]): Expression {
    const types = allowedTypes(keywordSets);
    const lists = keywordSets.flatMap((keywords) => [
      ...("enum" in keywords ? [listOf("enum", keywords["enum"])] : []),
      ...("const" in keywords ? [[keywords["const"]]] : []),
    ]);
    const [first, ...others] = lists;
    if (!first) return grammar.either(...types.map((type) => typeExpression(type, keywordSets)));
    const texts = others.map((list) => new Set(list.map((value) => canonicalJson(value, spend))));
    const candidates = first.filter((value) => {
      const text = canonicalJson(value, spend);
      return types.some((type) => isOfType(value, type)) && texts.every((list) => list.has(text));
    });
    const restrictions = keywordSets.map(({ enum: _, const: __, type: ___, ...others }) => others);
    if (restrictions.every((keywords) => Object.keys(keywords).length === 0))
      return valuesGrammar(candidates);
    const allowed = candidates.filter((value) => {
      const type = ALL_TYPES.find((type) => isOfType(value, type))!;
      return matchesText(
        typeExpression(type, [...restrictions, ANY_TEXT]),
        canonicalJson(value, spend),
      );
    });
    const isFormatUnmet = allowed.length === 0 && valuesOf(restrictions, "format").length > 0;
    if (isFormatUnmet) context.missing ??= describeString(keywordSets);
    return valuesGrammar(allowed);
  }

  function valuesGrammar(values: readonly unknown[]): Expression {
    return textsOf(
      grammar,
      values.map((value) => stringifyJson(value) ?? ""),
    );
  }

  function matchesText(from: Expression, text: string): boolean {
    let state = from;
    for (const byte of encodeUtf8(text)) {
      spend(1);
      state = grammar.derivative(state, byte.charCodeAt(0));
    }
    return state.isNullable;
  }

  /** The types that all keyword sets allow; if none is named, those that their keywords imply. */
  function allowedTypes(keywordSets: readonly Keywords[]): string[] {
    const named = valuesOf(keywordSets, "type").map(typesOf);
    if (named.length > 0) return named.reduce(commonTypes);
    const implied = IMPLIED_TYPES.filter(([, names]) =>
      names.some((name) => keywordSets.some((keywords) => name in keywords)),
    );
    return implied.length > 0 ? implied.map(([name]) => name) : ALL_TYPES;
  }

  function typeExpression(type: string, keywordSets: readonly Keywords[]): Expression {
    switch (type) {
      case "object":
        return objectGrammar(context, keywordSets, matchesText);
      case "array":
        return arrayGrammar(context, keywordSets);
      case "string":
        return stringGrammar(context, keywordSets);
      case "number":
      case "integer":
        return numberGrammar(context, type, keywordSets);
      default: {
        const excluded = valuesOf(keywordSets, "notValues").flat();
        const constants = type === "boolean" ? [true, false] : [null];
        return valuesGrammar(constants.filter((constant) => !excluded.includes(constant)));
      }
    }
  }

  /** Any JSON value, expanded lazily. */
  function anyValue(): Expression {
    if (context.isCanonical)
      return grammar.either(...SCALARS.map((type) => typeExpression(type, [])));
    return grammar.rule("any", () => {
      const [value, string] = [anyValue(), anyString(context)];
      const member = grammar.sequence(string, grammar.text(":"), value);
      return grammar.either(
        ...["true", "false", "null"].map((constant) => grammar.text(constant)),
        string,
        numbersOf(grammar, { lower: undefined, upper: undefined }),
        grammar.sequence(grammar.text("["), listGrammar(grammar, [], value), grammar.text("]")),
        grammar.sequence(grammar.text("{"), listGrammar(grammar, [], member), grammar.text("}")),
      );
    });
  }

  function assertNotNone(found: Expression): Expression {
    if (found !== grammar.none) return found;
    const unknown = problem();
    if (unknown) throw unknown;
    throw new KitError(
      "REQUEST_INVALID",
      `The schema allows no answer: ${context.missing ? `there is no ${context.missing}` : "its constraints contradict each other"}. Fix it, or remove a part.`,
    );
  }

  const found = assertNotNone(grammarOf(root));
  compileRules();
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
