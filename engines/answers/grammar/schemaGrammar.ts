import { KitError, messageOf } from "../../../protocol/error.ts";
import type { JsonSchema } from "../../../protocol/infer.ts";
import { isRecord } from "../../../protocol/isRecord.ts";
import { type Range, ANY, characterOf, textsOf, without } from "./characters.ts";
import { type Expression, type Expressions, tooLong } from "./expressions.ts";
import { FORMATS } from "./formats.ts";
import { type Bound, type Bounds, integersOf, numbersOf } from "./numbers.ts";
import { patternOf } from "./pattern.ts";
import {
  type Keywords,
  type Spend,
  assertEvaluated,
  joined,
  keywordsOf,
  refused,
  resolved,
  textOf,
  typesOf,
} from "./schemaNode.ts";

/** Characters that UTF-16 writes as two. */
const PAIRS: Range[] = [[0x10000, 0x10ffff]];
const ALL_TYPES = ["object", "array", "string", "number", "boolean", "null"];
/** Whose keywords stand for the type where a schema names none. */
const TYPE_OF: readonly (readonly [type: string, keywords: readonly string[]])[] = [
  ["object", ["properties", "required", "additionalProperties", "propertyNames", "minProperties"]],
  ["array", ["items", "prefixItems", "minItems", "maxItems", "additionalItems", "uniqueItems"]],
  ["string", ["minLength", "maxLength", "pattern", "format"]],
  ["number", ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]],
];
/** Schemas in schemas, at most, and all of them, each as often as it is read. */
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
  const comma = of.text(",");
  const character = characterOf(of, ANY);
  const anyString = quoted(of.repeat(character, 0, Infinity));

  function quoted(content: Expression): Expression {
    return of.sequence(of.text('"'), content, of.text('"'));
  }

  function grammarOf(schema: unknown): Expression {
    if (++count > MOST_SCHEMAS) throw refused(`more than ${MOST_SCHEMAS} schemas`);
    if (++depth > DEEPEST) throw refused(`schemas deeper than ${DEEPEST}`);
    try {
      if (schema === true) return anyValue();
      if (schema === false) return of.none;
      if (!isRecord(schema))
        throw refused(`${JSON.stringify(schema)?.slice(0, 60)}, which is none,`);
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
    // Fails where it is not there.
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

  /** Keywords, where those behind a `$ref` alone are read, too. */
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

  /** Whether no JSON is in two of them, as `oneOf` wants it. */
  function assertApart(alternatives: readonly Keywords[]): void {
    const texts = alternatives.map((one) => valuesOf(one)?.map((value) => textOf(value, spend)));
    const values = texts.flatMap((some) => [...new Set(some)]);
    // Each is values alone, and none has another's.
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
    const texts = held.map((value) => JSON.stringify(value));
    if (Object.keys(others).length === 0) return textsOf(of, texts);
    const strings = ofString(others);
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
        return ofObject(keywords);
      case "array":
        return ofArray(keywords);
      case "string":
        return ofString(keywords);
      case "number":
      case "integer":
        return ofNumber(type, keywords);
      case "boolean":
        return of.either(of.text("true"), of.text("false"));
      default:
        return of.text("null");
    }
  }

  function ofObject(keywords: Keywords): Expression {
    const { properties = {}, required = [], propertyNames = true, minProperties = 0 } = keywords;
    const { additionalProperties, unevaluatedProperties } = keywords;
    if (!isRecord(properties)) throw refused('"properties" that are no object');
    const needed = new Set(listOf("required", required).map(String));
    const known = [...new Set([...Object.keys(properties), ...needed])];
    // Where nothing is said, an object has its properties alone, or any.
    const more = additionalProperties ?? unevaluatedProperties ?? known.length === 0;
    const unnamed =
      more === false && (additionalProperties ?? unevaluatedProperties) !== false ? true : more;
    const valueOf = (name: string) =>
      grammarOf(Object.hasOwn(properties, name) ? properties[name] : unnamed);
    const written = known.map((name) => ({
      text: of.sequence(of.text(`${JSON.stringify(name)}:`), valueOf(name)),
      isNeeded: needed.has(name),
    }));
    const isOpen = mayHaveOthers(propertyNames, known) && more !== false;
    const other = !isOpen
      ? of.none
      : of.sequence(nameOf(propertyNames, known), of.text(":"), grammarOf(more));
    if (minProperties !== 0 && known.length > 0 && Number(minProperties) > needed.size) {
      throw refused('"minProperties" beside "properties"');
    }
    const least = known.length > 0 ? 0 : countOf("minProperties", minProperties);
    // A name may come twice.
    if (least > 1) throw refused('"minProperties" of more than 1');
    return of.sequence(of.text("{"), listed(written, other, least), of.text("}"));
  }

  /** Some in their order, of which others may follow, with commas between. */
  function listed(
    some: readonly { text: Expression; isNeeded: boolean }[],
    other: Expression,
    least = 0,
    most = Infinity,
  ): Expression {
    const moreOther = (from: number, to: number) => of.repeat(of.sequence(comma, other), from, to);
    // Behind the last one, where one came before, and where none did.
    let behind = moreOther(least, most);
    let first = of.either(
      least === 0 ? of.empty : of.none,
      most > 0 ? of.sequence(other, moreOther(Math.max(0, least - 1), most - 1)) : of.none,
    );
    for (const { text, isNeeded } of some.toReversed()) {
      const optional = (without: Expression) => (isNeeded ? of.none : without);
      first = of.either(of.sequence(text, behind), optional(first));
      behind = of.either(of.sequence(comma, text, behind), optional(behind));
    }
    return first;
  }

  /** A property's name that is none of some. */
  function nameOf(names: unknown, known: readonly string[]): Expression {
    if (known.length > 0) return quoted(otherThan(known.map((name) => [...name])));
    if (names === true) return anyString;
    if (!isRecord(names)) return grammarOf(names);
    const isText = names["type"] === undefined || typesOf(names["type"]).includes("string");
    return isText ? grammarOf({ ...names, type: "string" }) : of.none;
  }

  /** Whether properties may have other names than the known. */
  function mayHaveOthers(names: unknown, known: readonly string[]): boolean {
    if (names === true || known.length === 0) return true;
    // Zod writes what a record's keys are beside those that it needs.
    const { type = "string", enum: some, ...others } = isRecord(names) ? names : { names };
    if (type !== "string" || Object.keys(others).length > 0) throw besideNames();
    if (Array.isArray(some)) {
      const listed = new Set<unknown>(some);
      if (!known.every((name) => listed.has(name))) throw besideNames();
      return false;
    }
    if (some !== undefined) throw besideNames();
    return true;
  }

  /** Characters, none of them escaped, that are not one of some texts. */
  function otherThan(texts: readonly (readonly string[])[], at = 0): Expression {
    const byFirst = new Map<string, (readonly string[])[]>();
    for (const text of texts) {
      spend(1);
      const first = text[at];
      if (first === undefined) continue;
      const same = byFirst.get(first);
      if (same) same.push(text);
      else byFirst.set(first, [text]);
    }
    const unescaped = (taken: readonly string[]) => {
      const codes = [...taken.map((text) => text.codePointAt(0)!), 0x22, 0x5c];
      const others = codes.map((code): Range => [code, code]);
      return characterOf(of, without(ANY, [[0, 0x1f], ...others]));
    };
    const any = of.repeat(unescaped([]), 0, Infinity);
    const begun = [...byFirst].filter(([first]) => !['"', "\\"].includes(first) && first >= " ");
    return of.either(
      texts.some((text) => text.length === at) ? of.none : of.empty,
      of.sequence(unescaped([...byFirst.keys()]), any),
      ...begun.map(([first, same]) => of.sequence(of.text(first), otherThan(same, at + 1))),
    );
  }

  function ofArray(keywords: Keywords): Expression {
    const { items, prefixItems, additionalItems, unevaluatedItems, uniqueItems } = keywords;
    if (uniqueItems !== undefined && uniqueItems !== false) throw refused('"uniqueItems"');
    const places: unknown[] = Array.isArray(items)
      ? (items as unknown[])
      : prefixItems === undefined
        ? []
        : listOf("prefixItems", prefixItems);
    const rest = Array.isArray(items) ? additionalItems : items;
    // Where nothing is said, a list has its places alone, or any items.
    const more = rest ?? unevaluatedItems ?? places.length === 0;
    const least = countOf("minItems", keywords["minItems"] ?? 0);
    const most = countOf("maxItems", keywords["maxItems"] ?? Infinity);
    if (places.length > most) {
      // So few that not all of them are there.
      return ofArray({ prefixItems: places.slice(0, most), items: false, minItems: least });
    }
    const left = [Math.max(0, least - places.length), most - places.length] as const;
    const other = left[1] === 0 || more === false ? of.none : grammarOf(more);
    const written = places.map((place) => ({ text: grammarOf(place), isNeeded: true }));
    return of.sequence(of.text("["), listed(written, other, ...left), of.text("]"));
  }

  function ofString(keywords: Keywords): Expression {
    const { minLength = 0, maxLength = Infinity, pattern, format } = keywords;
    const hasLength = "minLength" in keywords || "maxLength" in keywords;
    const source = pattern ?? formatOf(format);
    if (source !== undefined) {
      const name = pattern === undefined ? "format" : "pattern";
      if (hasLength) throw refused(`"minLength" or "maxLength" beside "${name}"`);
      if (typeof source !== "string") throw refused(`"${name}" that is no text`);
      return quoted(ofPattern(source));
    }
    const [least, most] = [countOf("minLength", minLength), countOf("maxLength", maxLength)];
    if (most === Infinity) return quoted(of.repeat(character, least, most));
    // JSON Schema counts characters, and JavaScript two for each beyond U+FFFF: so little that both hold.
    const [single, double] = [without(ANY, PAIRS), PAIRS].map((some) => characterOf(of, some));
    return quoted(of.repeat(single ?? of.none, least, most, double));
  }

  function formatOf(format: unknown): string | undefined {
    if (format === undefined) return undefined;
    const known = typeof format === "string" ? FORMATS.get(format) : undefined;
    if (known === undefined) throw refused(`"format" ${JSON.stringify(format)?.slice(0, 60)}`);
    return known;
  }

  function ofPattern(source: string): Expression {
    spend(source.length >>> 2);
    try {
      return patternOf(of, source);
    } catch (error) {
      if (error instanceof KitError) throw error;
      throw refused(`"pattern" ${JSON.stringify(source.slice(0, 60))} (${messageOf(error)})`);
    }
  }

  function ofNumber(type: string, keywords: Keywords): Expression {
    const { multipleOf } = keywords;
    const isWhole = type === "integer" || multipleOf === 1;
    if (multipleOf !== undefined && multipleOf !== 1) throw refused('"multipleOf" other than 1');
    const least = tighter(bound(keywords, "minimum"), bound(keywords, "exclusiveMinimum"), 1);
    const most = tighter(bound(keywords, "maximum"), bound(keywords, "exclusiveMaximum"), -1);
    const bounds: Bounds = { least, most };
    return isWhole ? integersOf(of, bounds) : numbersOf(of, bounds);
  }

  /** Any JSON; what is in it is found when it is needed. */
  function anyValue(): Expression {
    return of.rule("any", () => {
      const value = anyValue();
      const member = of.sequence(anyString, of.text(":"), value);
      return of.either(
        ...["true", "false", "null"].map((word) => of.text(word)),
        anyString,
        numbersOf(of, { least: undefined, most: undefined }),
        of.sequence(of.text("["), listed([], value), of.text("]")),
        of.sequence(of.text("{"), listed([], member), of.text("}")),
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

function besideNames(): KitError {
  return refused('"propertyNames" beside "properties" or "required"');
}

function bound(keywords: Keywords, name: string): Bound | undefined {
  const value = keywords[name];
  if (value === undefined) return undefined;
  if (typeof value !== "number" || !Number.isFinite(value))
    throw refused(`"${name}" that is no number`);
  return { value, isOpen: name.startsWith("exclusive") };
}

/** The one that leaves less. @param sign 1 for the lower bounds */
function tighter(
  one: Bound | undefined,
  other: Bound | undefined,
  sign: number,
): Bound | undefined {
  if (!one || !other) return one ?? other;
  if (one.value === other.value) return { value: one.value, isOpen: true };
  return (one.value - other.value) * sign > 0 ? one : other;
}

function countOf(name: string, value: unknown): number {
  if (value === Infinity || (Number.isSafeInteger(value) && Number(value) >= 0))
    return Number(value);
  throw refused(`"${name}" that is no count`);
}

function listOf(name: string, value: unknown): unknown[] {
  const isFilled =
    Array.isArray(value) && (value.length > 0 || name === "required" || name === "enum");
  if (isFilled) return value as unknown[];
  throw refused(`"${name}" that is no list`);
}

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case "object":
      return isRecord(value);
    case "array":
      return Array.isArray(value);
    case "null":
      return value === null;
    case "integer":
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

/** Whether no JSON is in both, as far as types, values and properties that both need tell. */
function areApart(
  one: Keywords,
  other: Keywords,
  open: (schema: unknown) => Keywords,
  spend: Spend,
): boolean {
  spend(2);
  const [values, others] = [valuesOf(one), valuesOf(other)];
  if (values && others) {
    const known = new Set(others.map((value) => textOf(value, spend)));
    return !values.some((value) => known.has(textOf(value, spend)));
  }
  const [types, otherTypes] = [one["type"], other["type"]];
  if (types !== undefined && otherTypes !== undefined) {
    const general = (type: string) => (type === "integer" ? "number" : type);
    const known = new Set(typesOf(types).map(general));
    if (!typesOf(otherTypes).some((type) => known.has(general(type)))) return true;
  }
  const needed = (of: Keywords) =>
    (Array.isArray(of["required"]) ? of["required"] : []) as string[];
  const [mine, theirs] = [one["properties"], other["properties"]];
  if (!isRecord(mine) || !isRecord(theirs)) return false;
  const [some, all] = [needed(one), new Set(needed(other))];
  spend(some.length + all.size);
  return some.some(
    (name) =>
      all.has(name) &&
      Object.hasOwn(mine, name) &&
      Object.hasOwn(theirs, name) &&
      areApart(open(mine[name]), open(theirs[name]), open, spend),
  );
}

function valuesOf(keywords: Keywords): unknown[] | undefined {
  if ("const" in keywords) return [keywords["const"]];
  return Array.isArray(keywords["enum"]) ? (keywords["enum"] as unknown[]) : undefined;
}
