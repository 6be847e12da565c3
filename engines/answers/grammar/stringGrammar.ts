import { stringifyJson } from "../../../protocol/json.ts";
import { type Range, ANY, characterOf, textsOf, without } from "./characters.ts";
import type { Expression } from "./expression.ts";
import type { Expressions } from "./expressions.ts";
import { FORMATS } from "./formats.ts";
import { ofPattern } from "./pattern.ts";
import { type Keywords, type Reading, countsOf, valuesOf } from "./schemaNode.ts";

/** Characters that UTF-16 writes as two. */
const PAIRS: Range[] = [[0x10000, 0x10ffff]];
const SINGLE = without(ANY, PAIRS);

export function quoted(of: Expressions, content: Expression): Expression {
  return of.sequence(of.text('"'), content, of.text('"'));
}

export function anyString({ of, character }: Reading): Expression {
  return quoted(of, of.repeat(character, 0, Infinity));
}

/** Beside a pattern, even one that every text matches, a format is the whole of what it means. */
export const ANY_TEXT = { pattern: "" };

/** A string, by its lengths, patterns and formats. */
export function stringGrammar(reading: Reading, facts: readonly Keywords[]): Expression {
  const { of } = reading;
  const formats = valuesOf(facts, "format").flatMap((name) => {
    const known = FORMATS.get(name);
    return known ? [known] : [];
  });
  const sources = [...new Set(valuesOf(facts, "pattern"))].filter((source) => source !== "");
  const others = valuesOf(facts, "notPattern").map((source) => ofPattern(of, source));
  const isAlone = facts.every((fact) => !("pattern" in fact) && !("notPattern" in fact));
  const unwanted = valuesOf(facts, "notValues")
    .flat()
    .filter((one) => typeof one === "string")
    .map((one) => JSON.stringify(one).slice(1, -1));
  const patterns = sources.map((source) => ofPattern(of, source));
  const { least, most } = countsOf(facts, "minLength", "maxLength");
  const within = (forms: readonly string[]) =>
    textWithin(reading, {
      least,
      most,
      others: [...others, textsOf(of, unwanted)],
      patterns: [...patterns, ...forms.map((source) => ofPattern(of, source))],
    });
  const plain = isAlone ? within(formats.map(([form]) => form)) : of.none;
  const found = plain === of.none ? within(formats.map(([form, whole = form]) => whole)) : plain;
  if (found === of.none) reading.missing ??= textWith(facts);
  return quoted(of, found);
}

/** Names what a string is asked for. */
export function textWith(facts: readonly Keywords[]): string {
  const asked = ["const", "enum", "format", "pattern", "minLength", "maxLength"].flatMap((name) =>
    valuesOf(facts, name).map((value) => `"${name}" ${stringifyJson(value)?.slice(0, 60)}`),
  );
  return `text with ${asked.join(" and ")}`;
}

/** A string's content: so long, within all of these patterns and none of the others. */
export function textWithin(
  { of, character }: Reading,
  {
    least = 0,
    most = Infinity,
    patterns,
    others,
  }: {
    least?: number;
    most?: number;
    patterns: readonly Expression[];
    others: readonly Expression[];
  },
): Expression {
  // JSON Schema counts characters; JavaScript counts two for each beyond U+FFFF. Both must hold.
  function ofLength(): Expression {
    if (most === Infinity) return of.repeat(character, least, most);
    const single = characterOf(of, SINGLE);
    return of.repeat(single, least, most, characterOf(of, PAIRS));
  }

  const isOpen = least === 0 && most === Infinity && patterns.length > 0;
  const lacking = others.filter((one) => one !== of.none).map(of.not);
  return of.both(...(isOpen ? [] : [ofLength()]), ...patterns, ...lacking);
}
