import { assertTextLength, charactersOf } from "./values.ts";

// Python's string methods, where JavaScript's differ.

/** The characters of Python's `str.isspace`, which differ from JavaScript's `\s`. */
const SPACE =
  "\\t-\\r\\u001c- \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const IS_SPACE = new RegExp(`^[${SPACE}]+$`);
const SPACES = new RegExp(`[${SPACE}]+`);

const isSpace = (text: string) => IS_SPACE.test(text);

/** @param characters to strip; undefined for white space */
export function stripped(
  text: string,
  side: "both" | "left" | "right",
  characters?: string,
): string {
  const set = characters === undefined ? undefined : new Set(charactersOf(characters));
  const isStripped = (character: string | undefined) =>
    character !== undefined && (set ? set.has(character) : isSpace(character));
  // White space never needs a surrogate pair, so UTF-16 units suffice.
  const items = set ? charactersOf(text) : text;
  let [start, end] = [0, items.length];
  if (side !== "right") while (start < end && isStripped(items[start])) start++;
  if (side !== "left") while (end > start && isStripped(items[end - 1])) end--;
  const rest = items.slice(start, end);
  return typeof rest === "string" ? rest : rest.join("");
}

/** @param separator undefined for any white space @param limit maximum number of splits; -1 for all */
export function split(text: string, separator: string | undefined, limit: number): string[] {
  if (separator === "") throw new Error("it splits a string at an empty separator");
  if (separator !== undefined && limit < 0) return text.split(separator);
  const parts: string[] = [];
  let rest = separator === undefined ? stripped(text, "left") : text;
  while (limit < 0 || parts.length < limit) {
    const found = separator === undefined ? SPACES.exec(rest) : find(rest, separator);
    if (!found) break;
    parts.push(rest.slice(0, found.index));
    rest = rest.slice(found.index + found[0].length);
  }
  if (separator !== undefined) return [...parts, rest];
  const last = limit < 0 || parts.length < limit ? stripped(rest, "right") : rest;
  return last === "" ? parts : [...parts, last];
}

function find(text: string, part: string): { index: number; 0: string } | undefined {
  const index = text.indexOf(part);
  return index < 0 ? undefined : { index, 0: part };
}

/** As `split`, from the end. */
export function splitFromEnd(text: string, separator: string | undefined, limit: number): string[] {
  if (limit < 0) return split(text, separator, limit);
  const reversed = (part: string) => charactersOf(part).reverse().join("");
  const reversedSeparator = separator === undefined ? undefined : reversed(separator);
  return split(reversed(text), reversedSeparator, limit).map(reversed).reverse();
}

const LINE_END = /\r\n|[\n\r\u000b\u000c\u001c-\u001e\u0085\u2028\u2029]/g;

export function lines(text: string, keepsEnds = false): string[] {
  const found: string[] = [];
  let start = 0;
  for (const { 0: end, index } of text.matchAll(LINE_END)) {
    found.push(text.slice(start, index + (keepsEnds ? end.length : 0)));
    start = index + end.length;
  }
  return start < text.length ? [...found, text.slice(start)] : found;
}

/** @param limit maximum number of replacements; -1 for all */
export function replaced(text: string, old: string, replacement: string, limit: number): string {
  if (limit === 0) return text;
  const parts = old === "" ? ["", ...charactersOf(text), ""] : text.split(old);
  const count = limit < 0 ? parts.length - 1 : Math.min(limit, parts.length - 1);
  assertTextLength(text.length + count * replacement.length);
  const rest = parts.slice(count);
  return [...parts.slice(0, count), rest.join(old)].join(replacement);
}

export function capitalized(text: string): string {
  const [first = "", ...rest] = charactersOf(text);
  return first.toUpperCase() + rest.join("").toLowerCase();
}

/** As `str.title`: capitalizes each run of letters. */
export function titled(text: string): string {
  return text.replaceAll(/\p{L}+/gu, capitalized);
}

/** As the filter `title`: capitalizes each word. */
export function titledWords(text: string): string {
  return text.replaceAll(/(?<=^|[-\s({[<])[^-\s({[<]+/gu, capitalized);
}

/** As the filter `indent`. */
export function indented(text: string, margin: string, first: boolean, blank: boolean): string {
  const all = lines(`${text}\n`);
  assertTextLength(text.length + all.length * margin.length);
  const rest = all.map((line, i) => (i > 0 && (blank || line !== "") ? margin + line : line));
  return (first ? margin : "") + rest.join("\n");
}
