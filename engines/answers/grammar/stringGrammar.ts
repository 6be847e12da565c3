import { stringifyJson } from "../../../protocol/json.ts";
import { type Range, ANY_CHAR, characterOf, textsOf, without } from "./characters.ts";
import type { Expression } from "./expression.ts";
import type { Expressions } from "./expressions.ts";
import { FORMATS } from "./formats.ts";
import { schemaPattern } from "./pattern.ts";
import { type Keywords, type CompileContext, countsOf, valuesOf } from "./schemaNode.ts";

/** Characters beyond U+FFFF, which UTF-16 encodes as two units. */
const TWO_UNITS: Range[] = [[0x10000, 0x10ffff]];
const ONE_UNIT = without(ANY_CHAR, TWO_UNITS);

export function quoted(grammar: Expressions, content: Expression): Expression {
  return grammar.sequence(grammar.text('"'), content, grammar.text('"'));
}

export function anyString({ grammar, character }: CompileContext): Expression {
  return quoted(grammar, grammar.repeat(character, 0, Infinity));
}

/** Matches every text. A format beside a pattern, such as this one, allows all spellings, not only the usual ones. */
export const ANY_TEXT = { pattern: "" };

export function stringGrammar(
  context: CompileContext,
  keywordSets: readonly Keywords[],
): Expression {
  const { grammar } = context;
  const formats = valuesOf(keywordSets, "format").flatMap((name) => {
    const format = FORMATS.get(name);
    return format ? [format] : [];
  });
  const sources = [...new Set(valuesOf(keywordSets, "pattern"))].filter((source) => source !== "");
  const excluded = valuesOf(keywordSets, "notPattern").map((source) =>
    schemaPattern(grammar, source),
  );
  const hasNoPattern = keywordSets.every(
    (keywords) => !("pattern" in keywords) && !("notPattern" in keywords),
  );
  const excludedTexts = valuesOf(keywordSets, "notValues")
    .flat()
    .filter((value) => typeof value === "string")
    .map((value) => JSON.stringify(value).slice(1, -1));
  const patterns = sources.map((source) => schemaPattern(grammar, source));
  const { minimum: minLength, maximum: maxLength } = countsOf(
    keywordSets,
    "minLength",
    "maxLength",
  );
  const within = (formatPatterns: readonly string[]) =>
    textWithin(context, {
      minLength,
      maxLength,
      excluded: [...excluded, textsOf(grammar, excludedTexts)],
      patterns: [...patterns, ...formatPatterns.map((source) => schemaPattern(grammar, source))],
    });
  const usual = hasNoPattern ? within(formats.map(([pattern]) => pattern)) : grammar.none;
  const found =
    usual === grammar.none ? within(formats.map(([pattern, full = pattern]) => full)) : usual;
  if (found === grammar.none) context.missing ??= describeString(keywordSets);
  return quoted(grammar, found);
}

/** Describes a string's constraints, for an error message. */
export function describeString(keywordSets: readonly Keywords[]): string {
  const constraints = ["const", "enum", "format", "pattern", "minLength", "maxLength"].flatMap(
    (name) =>
      valuesOf(keywordSets, name).map((value) => `"${name}" ${stringifyJson(value)?.slice(0, 60)}`),
  );
  return `text with ${constraints.join(" and ")}`;
}

/** A string's content: within these lengths, matching all patterns and none of `excluded`. */
export function textWithin(
  { grammar, character }: CompileContext,
  {
    minLength = 0,
    maxLength = Infinity,
    patterns,
    excluded,
  }: {
    minLength?: number;
    maxLength?: number;
    patterns: readonly Expression[];
    excluded: readonly Expression[];
  },
): Expression {
  // JSON Schema counts characters, JavaScript UTF-16 units. Both counts must be within the limits.
  function ofLength(): Expression {
    if (maxLength === Infinity) return grammar.repeat(character, minLength, maxLength);
    const single = characterOf(grammar, ONE_UNIT);
    return grammar.repeat(single, minLength, maxLength, characterOf(grammar, TWO_UNITS));
  }

  const hasAnyLength = minLength === 0 && maxLength === Infinity && patterns.length > 0;
  const complements = excluded.filter((text) => text !== grammar.none).map(grammar.complement);
  return grammar.intersection(...(hasAnyLength ? [] : [ofLength()]), ...patterns, ...complements);
}
