import { KitError, messageOf } from "../../../protocol/error.ts";
import { type Range, ANY, characterOf, textsOf, without } from "./characters.ts";
import type { Expression, Expressions } from "./expressions.ts";
import { FORMATS } from "./formats.ts";
import { patternOf } from "./pattern.ts";
import { type Keywords, type Reading, countsOf, refused, valuesOf } from "./schemaNode.ts";

/** Characters that UTF-16 writes as two. */
const PAIRS: Range[] = [[0x10000, 0x10ffff]];
const SINGLE = without(ANY, PAIRS);

export function quoted(of: Expressions, content: Expression): Expression {
  return of.sequence(of.text('"'), content, of.text('"'));
}

export function anyString({ of, character }: Reading): Expression {
  return quoted(of, of.repeat(character, 0, Infinity));
}

/** A string, by its lengths, patterns and formats. */
export function stringGrammar(reading: Reading, facts: readonly Keywords[]): Expression {
  const { of } = reading;
  const formats = valuesOf(facts, "format").flatMap((name) => FORMATS.get(name as string) ?? []);
  const patterns = [...valuesOf(facts, "pattern"), ...formats];
  const texts = valuesOf(facts, "notValues")
    .flat()
    .filter((one) => typeof one === "string");
  const others = valuesOf(facts, "notPattern").map((source) => ofPattern(of, source));
  const unwanted = textsOf(
    of,
    texts.map((one) => JSON.stringify(one).slice(1, -1)),
  );
  const { least, most } = countsOf(facts, "minLength", "maxLength");
  const found = textWithin(reading, {
    ...{ least, most, others: [...others, unwanted] },
    patterns: patterns.map((source) => ofPattern(of, source)),
  });
  return quoted(of, found);
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

export function ofPattern(of: Expressions, source: unknown): Expression {
  if (typeof source !== "string") throw refused('"pattern" that is no text');
  of.spend(source.length >>> 2);
  try {
    return patternOf(of, source);
  } catch (error) {
    if (error instanceof KitError) throw error;
    throw refused(`"pattern" ${JSON.stringify(source.slice(0, 60))} (${messageOf(error)})`);
  }
}
