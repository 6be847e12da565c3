import { type WholeFloat, numberText } from "../../../protocol/json.ts";
import { compare } from "./comparison.ts";
import { Markup, Series, isInteger, isTuple, numeric, textIn, typeName } from "./values.ts";

/** Python's `str`. */
export function str(value: unknown): string {
  if (value === undefined) return "";
  return textIn(value) ?? repr(value);
}

/** Python's `repr`, as within a list. */
export function repr(value: unknown): string {
  if (value === undefined) return "Undefined";
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  const text = textIn(value);
  if (text !== undefined) {
    return value instanceof Markup ? `Markup(${quotedText(text)})` : quotedText(text);
  }
  if (isNumber(value)) {
    return numberText(value).replace("Infinity", "inf").replace("NaN", "nan");
  }
  if (Array.isArray(value)) {
    const items = value.map(repr).join(", ");
    if (!isTuple(value)) return `[${items}]`;
    return value.length === 1 ? `(${items},)` : `(${items})`;
  }
  if (value instanceof Map) {
    const members = [...value].map((pair) => pair.map(repr).join(": "));
    return `{${members.join(", ")}}`;
  }
  if (value instanceof Series && value.text) return value.text();
  throw new Error(`it writes a ${typeName(value)}, which is not text`);
}

function isNumber(value: unknown): value is number | bigint | WholeFloat {
  return typeof value !== "boolean" && numeric(value) !== undefined;
}

/** Characters that Python escapes: the backslash, controls, lone surrogates, unassigned characters, and spaces. */
const UNPRINTABLE = /[\p{C}\p{Z}\\]/gu;
const ESCAPES: Record<string, string> = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t" };

function quotedText(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replaceAll(UNPRINTABLE, (character) => {
    if (character === " ") return character;
    const code = character.codePointAt(0)!;
    const digits = code.toString(16);
    if (ESCAPES[character] !== undefined) return ESCAPES[character];
    if (code < 0x100) return `\\x${digits.padStart(2, "0")}`;
    return code < 0x10000 ? `\\u${digits.padStart(4, "0")}` : `\\U${digits.padStart(8, "0")}`;
  });
  return quote + (quote === "'" ? escaped.replaceAll("'", "\\'") : escaped) + quote;
}

/** Options of `tojson` in `transformers`, as of Python's `json.dumps`. */
export interface JsonOptions {
  ensureAscii: boolean;
  /** Indentation of each level; undefined for a single line. */
  indent: string | undefined;
  separators: readonly [betweenItems: string, afterKey: string];
  sortsKeys: boolean;
}

/** Python's `json.dumps`. @throws Error for values that JSON can't hold */
export function json(value: unknown, options: JsonOptions, margin = "\n"): string {
  if (value === null) return "null";
  if (typeof value === "boolean") return String(value);
  const text = textIn(value);
  if (text !== undefined) return jsonText(text, options);
  if (isNumber(value)) return numberText(value);
  const { indent, separators, sortsKeys } = options;
  const [betweenItems, afterKey] = separators;
  const [inner, outer] = indent === undefined ? ["", ""] : [margin + indent, margin];
  const nested = (item: unknown) => json(item, options, inner);
  const block = (open: string, items: string[], close: string) =>
    items.length === 0
      ? open + close
      : open + inner + items.join(betweenItems + inner) + outer + close;
  if (Array.isArray(value)) return block("[", value.map(nested), "]");
  if (!(value instanceof Map)) throw new Error(`it writes a ${typeName(value)} as JSON`);
  const entries: [unknown, unknown][] = [...value];
  if (sortsKeys) entries.sort(([a], [b]) => compare(a, b));
  const members = entries.map(
    ([key, item]) => jsonText(jsonKey(key), options) + afterKey + nested(item),
  );
  return block("{", members, "}");
}

function jsonKey(key: unknown): string {
  if (key === null) return "null";
  if (typeof key === "boolean") return String(key);
  return textIn(key) ?? (isInteger(key) || isNumber(key) ? numberText(key as number) : fail(key));
}

function fail(key: unknown): never {
  throw new Error(`it writes a ${typeName(key)} as the key of a JSON object`);
}

const JSON_ESCAPES = new Map([
  ...[...'"\\'].map((character) => [character, `\\${character}`] as const),
  ...["\bb", "\ff", "\nn", "\rr", "\tt"].map((pair) => [pair[0]!, `\\${pair[1]}`] as const),
]);

const ESCAPED = /["\\\u0000-\u001f]/g;
const ESCAPED_FOR_ASCII = /["\\]|[^ -~]/g;

function jsonText(text: string, { ensureAscii }: JsonOptions): string {
  const escaped = text.replaceAll(
    ensureAscii ? ESCAPED_FOR_ASCII : ESCAPED,
    (character) =>
      JSON_ESCAPES.get(character) ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return `"${escaped}"`;
}

/** Escapes HTML, as `escape` does. */
export function escaped(value: unknown): string {
  const text = str(value);
  return value instanceof Markup
    ? text
    : text.replaceAll(/[&<>'"]/g, (character) => `&${HTML_NAMES.get(character)};`);
}

const HTML_NAMES = new Map([
  ["&", "amp"],
  ["<", "lt"],
  [">", "gt"],
  ["'", "#39"],
  ['"', "#34"],
]);
