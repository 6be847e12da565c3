import { KitError } from "../../../protocol/error.ts";
import type { JsonSchema } from "../../../protocol/infer.ts";
import { isRecord } from "../../../protocol/isRecord.ts";
import { WholeFloat, stringifyJson } from "../../../protocol/json.ts";
import { areApart, valuesOf } from "./apart.ts";
import { arrayGrammar } from "./arrayGrammar.ts";
import { ANY, characterOf, textsOf } from "./characters.ts";
import { type Expression, type Expressions, tooLong } from "./expressions.ts";
import { listed } from "./members.ts";
import { numberGrammar } from "./numberGrammar.ts";
import { numbersOf } from "./numbers.ts";
import { objectGrammar } from "./objectGrammar.ts";
import {
  type Keywords,
  assertEvaluated,
  joined,
  keywordsOf,
  listOf,
  refused,
  resolved,
  textOf,
  typesOf,
} from "./schemaNode.ts";
import { anyString, stringGrammar } from "./stringGrammar.ts";

const ALL_TYPES = ["object", "array", "string", "number", "boolean", "null"];
/** Keywords that imply a type where a schema names none. */
const TYPE_OF: readonly (readonly [type: string, keywords: readonly string[]])[] = [
  ["object", ["properties", "required", "additionalProperties", "propertyNames", "minProperties"]],
  ["array", ["items", "prefixItems", "minItems", "maxItems", "additionalItems", "uniqueItems"]],
  ["string", ["minLength", "maxLength", "pattern", "format"]],
  ["number", ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]],
];
/** Limits: nesting of schemas, and schemas read in all. */
const DEEPEST = 64;
const MOST_SCHEMAS = 20_000;

/**
 * The JSON that a schema allows, without white space between: properties in the order in which the schema has them,
 * and only as much as it says where it leaves more open.
 * @param scope tells schemas of one grammar apart
 * @throws KitError `REQUEST_INVALID` naming a keyword that it is not held to
 */
export function schemaGrammar(of: Expressions, root: JsonSchema, scope = ""): Expression {
  try {
    return readGrammar(of, root, scope);
  } catch (error) {
    // Deeper than the stack.
    throw error instanceof RangeError ? tooLong() : error;
  }
}

function readGrammar(of: Expressions, root: JsonSchema, scope: string): Expression {
  const { spend } = of;
  /** What each `$ref` stands for, found before an answer begins. */
  const bodies = new Map<string, Expression | undefined>();
  const rules: Expression[] = [];
  const join = (one: Keywords, other: Keywords) => joined(one, other, spend);
  let depth = 0;
  let count = 0;
  const reading = { of, character: characterOf(of, ANY), grammarOf };

  function grammarOf(schema: unknown): Expression {
    if (++count > MOST_SCHEMAS) throw refused(`more than ${MOST_SCHEMAS} schemas`);
    if (++depth > DEEPEST) throw refused(`schemas deeper than ${DEEPEST}`);
    try {
      if (schema === true) return anyValue();
      if (schema === false) return of.none;
      if (!isRecord(schema))
        throw refused(`${stringifyJson(schema)?.slice(0, 60)}, which is none,`);
      return ofKeywords(keywordsOf(schema, spend));
    } finally {
      depth--;
    }
  }

  function ofKeywords(keywords: Keywords): Expression {
    const { $ref: ref, allOf, anyOf, oneOf, ...others } = keywords;
    const isAlone = Object.keys(keywords).length === 1;
    if (ref !== undefined && isAlone) {
      return ruleOf(ref);
    }
    if (ref !== undefined) {
      const { $ref: _, allOf: also, ...beside } = keywords;
      const more = also === undefined ? [] : [{ allOf: also }];
      return grammarOf({ ...beside, allOf: [resolved(root, ref), ...more] });
    }
    if (allOf !== undefined) {
      const { allOf: _, ...beside } = keywords;
      const all = listOf("allOf", allOf).map(opened);
      if (all.length > 1 || Object.keys(beside).length > 0) all.forEach(assertEvaluated);
      return grammarOf(all.reduce(join, beside));
    }
    if (anyOf !== undefined || oneOf !== undefined) {
      if (anyOf !== undefined && oneOf !== undefined) throw refused('"oneOf" beside "anyOf"');
      const some = listOf(oneOf === undefined ? "anyOf" : "oneOf", oneOf ?? anyOf);
      if (oneOf !== undefined) assertApart(some.map(opened));
      const alternatives = some.map((one) =>
        Object.keys(others).length === 0 ? one : { ...others, allOf: [one] },
      );
      return of.either(...alternatives.map(grammarOf));
    }
    if (others["enum"] !== undefined || "const" in others) return ofValues(others);
    return of.either(...typesAsked(others).map((type) => ofType(type, others)));
  }

  function ruleOf(ref: unknown): Expression {
    // Throws if the target is missing.
    resolved(root, ref);
    const name = String(ref);
    const body = () => bodies.get(name) ?? notNone(grammarOf(resolved(root, ref)));
    const rule = of.rule(`${scope} ${JSON.stringify(name)}`, body);
    if (!bodies.has(name)) {
      bodies.set(name, undefined);
      rules.push(rule);
    }
    return rule;
  }

  /** Reads what is behind each `$ref`, and whether that begins with itself. */
  function readRules(): void {
    for (const name of bodies.keys()) {
      bodies.set(name, notNone(grammarOf(resolved(root, name))));
    }
    for (const rule of rules) of.next(rule, 0);
  }

  /** A schema's keywords, with its `$ref` resolved. */
  function opened(schema: unknown): Keywords {
    if (schema === true) return {};
    if (!isRecord(schema)) throw refused("false or a value that is no schema in a list");
    const { $ref: ref, ...others } = keywordsOf(schema, spend);
    if (ref === undefined) return others;
    if (++depth > DEEPEST) throw refused(`schemas deeper than ${DEEPEST}`);
    try {
      const found = opened(resolved(root, ref));
      if (Object.keys(others).length > 0) assertEvaluated(found);
      return join(found, others);
    } finally {
      depth--;
    }
  }

  /** Refuses a `oneOf` whose alternatives may overlap. */
  function assertApart(alternatives: readonly Keywords[]): void {
    const texts = alternatives.map((one) => valuesOf(one)?.map((value) => textOf(value, spend)));
    const values = texts.flatMap((some) => [...new Set(some)]);
    // All alternatives list values, and no two share one.
    if (!texts.includes(undefined) && new Set(values).size === values.length) return;
    alternatives.forEach((one, i) => {
      for (const other of alternatives.slice(i + 1)) {
        if (!areApart(one, other, opened, spend)) {
          throw refused(
            '"oneOf" whose schemas may hold at once (use "anyOf", or a "const" that tells them apart)',
          );
        }
      }
    });
  }

  function ofValues({ enum: listed, const: only, type, ...others }: Keywords): Expression {
    const beside = Object.keys(others).find((name) => !["format", "pattern"].includes(name));
    if (beside !== undefined) throw refused(`"${beside}" beside "enum" or "const"`);
    const values = listed === undefined ? [only] : listOf("enum", listed);
    const text = textOf(only, spend);
    const wanted = values.filter((one) => {
      const own = textOf(one, spend);
      return only === undefined || own === text;
    });
    const types = type === undefined ? undefined : typesOf(type);
    const held = wanted.filter((value) => types?.some((one) => isOfType(value, one)) ?? true);
    const texts = held.map((value) => stringifyJson(value) ?? "");
    if (Object.keys(others).length === 0) return textsOf(of, texts);
    const strings = stringGrammar(reading, others);
    return textsOf(
      of,
      texts.filter((one) => !one.startsWith('"') || isIn(strings, one)),
    );
  }

  function isIn(some: Expression, text: string): boolean {
    let left = some;
    for (const byte of Buffer.from(text)) {
      spend(1);
      left = of.next(left, byte);
    }
    return left.isNullable;
  }

  function typesAsked(keywords: Keywords): string[] {
    const { type } = keywords;
    if (type !== undefined) return typesOf(type);
    const meant = TYPE_OF.filter(([, names]) => names.some((name) => name in keywords));
    return meant.length > 0 ? meant.map(([name]) => name) : ALL_TYPES;
  }

  function ofType(type: string, keywords: Keywords): Expression {
    switch (type) {
      case "object":
        return objectGrammar(reading, keywords);
      case "array":
        return arrayGrammar(reading, keywords);
      case "string":
        return stringGrammar(reading, keywords);
      case "number":
      case "integer":
        return numberGrammar(of, type, keywords);
      case "boolean":
        return of.either(of.text("true"), of.text("false"));
      default:
        return of.text("null");
    }
  }

  /** Any JSON value, expanded lazily. */
  function anyValue(): Expression {
    return of.rule("any", () => {
      const [value, string] = [anyValue(), anyString(reading)];
      const member = of.sequence(string, of.text(":"), value);
      return of.either(
        ...["true", "false", "null"].map((word) => of.text(word)),
        string,
        numbersOf(of, { least: undefined, most: undefined }),
        of.sequence(of.text("["), listed(of, [], value), of.text("]")),
        of.sequence(of.text("{"), listed(of, [], member), of.text("}")),
      );
    });
  }

  function notNone(found: Expression): Expression {
    if (found !== of.none) return found;
    throw new KitError(
      "REQUEST_INVALID",
      "The schema allows no answer: what it asks for contradicts itself. Fix it, or remove a part.",
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
