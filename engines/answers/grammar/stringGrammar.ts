import { KitError, messageOf } from "../../../protocol/error.ts";
import { stringifyJson } from "../../../protocol/json.ts";
import { type Range, ANY, characterOf, without } from "./characters.ts";
import type { Expression, Expressions } from "./expressions.ts";
import { FORMATS } from "./formats.ts";
import { patternOf } from "./pattern.ts";
import { type Keywords, type Reading, countOf, refused } from "./schemaNode.ts";

/** Characters that UTF-16 writes as two. */
const PAIRS: Range[] = [[0x10000, 0x10ffff]];

export function quoted(of: Expressions, content: Expression): Expression {
  return of.sequence(of.text('"'), content, of.text('"'));
}

export function anyString({ of, character }: Reading): Expression {
  return quoted(of, of.repeat(character, 0, Infinity));
}

/** A string, by its length, its pattern or its format. */
export function stringGrammar({ of, character }: Reading, keywords: Keywords): Expression {
  const { minLength = 0, maxLength = Infinity, pattern, format } = keywords;
  const hasLength = "minLength" in keywords || "maxLength" in keywords;
  const source = pattern ?? formatOf(format);
  if (source !== undefined) {
    const name = pattern === undefined ? "format" : "pattern";
    if (hasLength) throw refused(`"minLength" or "maxLength" beside "${name}"`);
    if (typeof source !== "string") throw refused(`"${name}" that is no text`);
    return quoted(of, ofPattern(of, source));
  }
  const [least, most] = [countOf("minLength", minLength), countOf("maxLength", maxLength)];
  if (most === Infinity) return quoted(of, of.repeat(character, least, most));
  // JSON Schema counts characters; JavaScript counts two for each beyond U+FFFF. Both must hold.
  const [single, double] = [without(ANY, PAIRS), PAIRS].map((some) => characterOf(of, some));
  return quoted(of, of.repeat(single ?? of.none, least, most, double));
}

function formatOf(format: unknown): string | undefined {
  if (format === undefined) return undefined;
  const known = typeof format === "string" ? FORMATS.get(format) : undefined;
  if (known === undefined) throw refused(`"format" ${stringifyJson(format)?.slice(0, 60)}`);
  return known;
}

function ofPattern(of: Expressions, source: string): Expression {
  of.spend(source.length >>> 2);
  try {
    return patternOf(of, source);
  } catch (error) {
    if (error instanceof KitError) throw error;
    throw refused(`"pattern" ${JSON.stringify(source.slice(0, 60))} (${messageOf(error)})`);
  }
}
