import { stringifyJson } from "../../../protocol/json.ts";
import { type Range, ANY, characterOf, textsOf, without } from "./characters.ts";
import type { Expression } from "./expression.ts";
import type { Expressions } from "./expressions.ts";
import { FORMATS } from "./formats.ts";
import { ofPattern } from "./pattern.ts";
import { type Keywords, type CompileContext, countsOf, valuesOf } from "./schemaNode.ts";

/** Characters that UTF-16 writes as two. */
const PAIRS: Range[] = [[0x10000, 0x10ffff]];
const SINGLE = without(ANY, PAIRS);

export function quoted(grammar: Expressions, content: Expression): Expression {
  return grammar.sequence(grammar.text('"'), content, grammar.text('"'));
}

export function anyString({ grammar, character }: CompileContext): Expression {
  return quoted(grammar, grammar.repeat(character, 0, Infinity));
}

/** Beside a pattern, even one that every text matches, a format is the whole of what it means. */
export const ANY_TEXT = { pattern: "" };

/** A string, by its lengths, patterns and formats. */
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
  const others = valuesOf(keywordSets, "notPattern").map((source) => ofPattern(grammar, source));
  const isAlone = keywordSets.every((fact) => !("pattern" in fact) && !("notPattern" in fact));
  const unwanted = valuesOf(keywordSets, "notValues")
    .flat()
    .filter((one) => typeof one === "string")
    .map((one) => JSON.stringify(one).slice(1, -1));
  const patterns = sources.map((source) => ofPattern(grammar, source));
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
      patterns: [...patterns, ...forms.map((source) => ofPattern(grammar, source))],
    });
  const plain = isAlone ? within(formats.map(([form]) => form)) : grammar.none;
  const found =
    plain === grammar.none ? within(formats.map(([form, whole = form]) => whole)) : plain;
  if (found === grammar.none) context.missing ??= textWith(keywordSets);
  return quoted(grammar, found);
}

/** Names what a string is asked for. */
export function textWith(keywordSets: readonly Keywords[]): string {
  const asked = ["const", "enum", "format", "pattern", "minLength", "maxLength"].flatMap((name) =>
    valuesOf(keywordSets, name).map((value) => `"${name}" ${stringifyJson(value)?.slice(0, 60)}`),
  );
  return `text with ${asked.join(" and ")}`;
}

/** A string's content: so long, within all of these patterns and none of the others. */
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
  // JSON Schema counts characters; JavaScript counts two for each beyond U+FFFF. Both must hold.
  function ofLength(): Expression {
    if (maxLength === Infinity) return grammar.repeat(character, minLength, maxLength);
    const single = characterOf(grammar, SINGLE);
    return grammar.repeat(single, minLength, maxLength, characterOf(grammar, PAIRS));
  }

  const isOpen = minLength === 0 && maxLength === Infinity && patterns.length > 0;
  const lacking = others.filter((one) => one !== grammar.none).map(grammar.complement);
  return grammar.intersection(...(isOpen ? [] : [ofLength()]), ...patterns, ...lacking);
}
