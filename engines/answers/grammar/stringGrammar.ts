import { stringifyJson } from "../../../protocol/json.ts";
import { type Range, ANY, characterOf, textsOf, without } from "./characters.ts";
import type { Expression } from "./expression.ts";
import type { Expressions } from "./expressions.ts";
import { FORMATS } from "./formats.ts";
import { schemaPattern } from "./pattern.ts";
import { type Keywords, type CompileContext, countsOf, valuesOf } from "./schemaNode.ts";

/** Characters that UTF-16 encodes as two units. */
const PAIRS: Range[] = [[0x10000, 0x10ffff]];
const SINGLE = without(ANY, PAIRS);

export function quoted(grammar: Expressions, content: Expression): Expression {
  return grammar.sequence(grammar.text('"'), content, grammar.text('"'));
}

export function anyString({ grammar, character }: CompileContext): Expression {
  return quoted(grammar, grammar.repeat(character, 0, Infinity));
}

/** Matches every text; beside a pattern, a format allows everything that it means, not only its usual spelling. */
export const ANY_TEXT = { pattern: "" };

export function stringGrammar(
  context: CompileContext,
  keywordSets: readonly Keywords[],
): Expression {
  const { grammar } = context;
  const formats = valuesOf(keywordSets, "format").flatMap((name) => {
    const known = FORMATS.get(name);
    return known ? [known] : [];
  });
  const sources = [...new Set(valuesOf(keywordSets, "pattern"))].filter((source) => source !== "");
  const others = valuesOf(keywordSets, "notPattern").map((source) =>
    schemaPattern(grammar, source),
  );
  const hasNoPattern = keywordSets.every(
    (keywords) => !("pattern" in keywords) && !("notPattern" in keywords),
  );
  const unwanted = valuesOf(keywordSets, "notValues")
    .flat()
    .filter((one) => typeof one === "string")
    .map((one) => JSON.stringify(one).slice(1, -1));
  const patterns = sources.map((source) => schemaPattern(grammar, source));
  const { minimum: minLength, maximum: maxLength } = countsOf(
    keywordSets,
    "minLength",
    "maxLength",
  );
  const within = (forms: readonly string[]) =>
    textWithin(context, {
      minLength,
      maxLength,
      others: [...others, textsOf(grammar, unwanted)],
      patterns: [...patterns, ...forms.map((source) => schemaPattern(grammar, source))],
    });
  const plain = hasNoPattern ? within(formats.map(([form]) => form)) : grammar.none;
  const found =
    plain === grammar.none ? within(formats.map(([form, whole = form]) => whole)) : plain;
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

/** A string's content: within these lengths, matching all patterns and none of the others. */
export function textWithin(
  { grammar, character }: CompileContext,
  {
    minLength = 0,
    maxLength = Infinity,
    patterns,
    others,
  }: {
    minLength?: number;
    maxLength?: number;
    patterns: readonly Expression[];
    others: readonly Expression[];
  },
): Expression {
  // JSON Schema counts characters; JavaScript counts two for each beyond U+FFFF. Both counts must fit.
  function ofLength(): Expression {
    if (maxLength === Infinity) return grammar.repeat(character, minLength, maxLength);
    const single = characterOf(grammar, SINGLE);
    return grammar.repeat(single, minLength, maxLength, characterOf(grammar, PAIRS));
  }

  const isOpen = minLength === 0 && maxLength === Infinity && patterns.length > 0;
  const lacking = others.filter((one) => one !== grammar.none).map(grammar.complement);
  return grammar.intersection(...(isOpen ? [] : [ofLength()]), ...patterns, ...lacking);
}
