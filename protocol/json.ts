import jsonc from "jsonc-parser";
import { problemOfJson } from "./jsonProblem.ts";

/** A whole number written as a float, such as `1.0` or `1e22`. Python distinguishes it from an integer. */
export class WholeFloat extends Number {}

/** The original key order of an object with index-like keys, which JavaScript reorders. */
const KEY_ORDER = Symbol.for("kit key order");

type JsonObject = Record<string, unknown> & { [KEY_ORDER]?: string[] };

/** An error in JSON text. The message says what is wrong, and what to write. */
export class JsonError extends SyntaxError {
  /** Offset of the first wrong character; the text's length if it ends too early. */
  readonly offset: number;

  constructor(problem: string, offset: number) {
    super(problem);
    this.name = "JsonError";
    this.offset = offset;
  }
}

/** Matches text in which `JSON.parse` might change a number, or the order of an object's keys. */
const LOSSY = /\d{16}|\.0+(?!\d)|\d[eE]|"\d+"\s*:|\\u003/;

/**
 * Parses JSON as Python does: an integer beyond 2^53 is a `bigint`, a float without a fraction is a
 * `WholeFloat`, and `keysOf` gives an object's keys in their order.
 * @throws JsonError
 */
export function parseJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    const { problem, offset } = problemOfJson(text);
    throw new JsonError(problem, offset);
  }
  return LOSSY.test(text) ? parseLossless(text) : value;
}

/** @param text that `JSON.parse` accepts */
function parseLossless(text: string): unknown {
  const openContainers: { add: (value: unknown) => void }[] = [];
  let root: unknown;
  const add = (value: unknown) => {
    const container = openContainers.at(-1);
    if (container) container.add(value);
    else root = value;
  };
  let key = "";
  jsonc.visit(text, {
    onObjectBegin() {
      const object: JsonObject = {};
      const keys: string[] = [];
      add(object);
      let isOrdered = false;
      openContainers.push({
        add(value) {
          if (!Object.hasOwn(object, key)) keys.push(key);
          isOrdered ||= isIndex(key);
          set(object, key, value);
          if (isOrdered) object[KEY_ORDER] = keys;
        },
      });
    },
    onObjectProperty: (name) => void (key = name),
    onObjectEnd: () => void openContainers.pop(),
    onArrayBegin() {
      const array: unknown[] = [];
      add(array);
      openContainers.push({ add: (value) => void array.push(value) });
    },
    onArrayEnd: () => void openContainers.pop(),
    onLiteralValue(value: unknown, offset, length) {
      add(typeof value === "number" ? numberOf(text.slice(offset, offset + length)) : value);
    },
  });
  return root;
}

/** As `object[key] = value`, even if the key is `__proto__`. */
function set(object: JsonObject, key: string, value: unknown): void {
  Object.defineProperty(object, key, {
    value,
    enumerable: true,
    configurable: true,
    writable: true,
  });
}

function numberOf(text: string): number | bigint | WholeFloat {
  const value = Number(text);
  if (/^-?\d+$/.test(text)) return Number.isSafeInteger(value) ? value + 0 : BigInt(text);
  return Number.isInteger(value) ? new WholeFloat(value) : value;
}

/** An object's keys in the order that its JSON had. */
export function keysOf(object: object): string[] {
  const { [KEY_ORDER]: keys } = object as JsonObject;
  const current = Object.keys(object);
  if (!keys) return current;
  return [
    ...keys.filter((key) => Object.hasOwn(object, key)),
    ...current.filter((key) => !keys.includes(key)),
  ];
}

/** Maps an object's values; keeps the key order. */
export function mapValues(
  object: object,
  change: (value: unknown, key: string) => unknown,
): Record<string, unknown> {
  return objectOf(keysOf(object), (key) => change((object as JsonObject)[key], key));
}

/** Creates an object with keys in this order. @param keys without duplicates */
export function objectOf(
  keys: readonly string[],
  valueOf: (key: string) => unknown,
): Record<string, unknown> {
  const object: JsonObject = {};
  for (const key of keys) set(object, key, valueOf(key));
  if (keys.some(isIndex)) object[KEY_ORDER] = [...keys];
  return object;
}

/** Whether JavaScript sorts a key before others, as an array index. */
function isIndex(key: string): boolean {
  return /^\d+$/.test(key);
}

/**
 * Writes values of `parseJson` without loss, and others as `JSON.stringify` does, on one line.
 * @param infinite writes NaN and infinite numbers. Default: null.
 * @returns undefined for what JSON lacks, such as a function
 * @throws RangeError for values nested too deeply or cyclically
 */
export function stringifyJson(
  value: unknown,
  infinite: (value: number) => string = () => "null",
): string | undefined {
  return isOrdinary(value) ? JSON.stringify(value) : textOf(value, infinite);
}

/** Whether `JSON.stringify`, which is several times faster, writes the same. */
function isOrdinary(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || value === null) return typeof value !== "bigint";
  if (Array.isArray(value)) return value.every(isOrdinary);
  if (value instanceof Number || KEY_ORDER in value || "toJSON" in value) return false;
  return Object.values(value).every(isOrdinary);
}

function textOf(value: unknown, infinite: (value: number) => string): string | undefined {
  if (typeof value === "bigint") return String(value);
  if (typeof value === "number" || value instanceof Number) {
    if (!Number.isFinite(Number(value))) return infinite(Number(value));
    return value instanceof WholeFloat ? numberText(value) : JSON.stringify(value);
  }
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) {
    return `[${value.map((item) => textOf(item, infinite) ?? "null").join(",")}]`;
  }
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === "function") {
    return textOf((toJSON as () => unknown).call(value), infinite);
  }
  if (value instanceof String || value instanceof Boolean) return JSON.stringify(value);
  const members = keysOf(value).flatMap((key) => {
    const text = textOf((value as JsonObject)[key], infinite);
    return text === undefined ? [] : [`${JSON.stringify(key)}:${text}`];
  });
  return `{${members.join(",")}}`;
}

/**
 * Formats a number as Python does.
 * @param value a whole number is an integer unless it is a `WholeFloat`
 */
export function numberText(value: number | bigint | WholeFloat): string {
  if (typeof value === "bigint" || Number.isInteger(value)) return String(value);
  const float = Number(value);
  if (Number.isNaN(float)) return "NaN";
  if (!Number.isFinite(float)) return float > 0 ? "Infinity" : "-Infinity";
  if (float === 0) return Object.is(float, -0) ? "-0.0" : "0.0";
  const [digits = "", power = "0"] = float.toExponential().split("e");
  const exponent = Number(power);
  if (exponent < MIN_FIXED_EXPONENT || exponent >= END_FIXED_EXPONENT) {
    const sign = exponent < 0 ? "-" : "+";
    return `${digits}e${sign}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }
  if (exponent < 0) return float.toFixed(decimalsOf(digits) - exponent);
  const text = String(float);
  return text.includes(".") ? text : `${text}.0`;
}

/** Python writes floats in fixed notation from the first of these exponents up to, but without, the second. */
const [MIN_FIXED_EXPONENT, END_FIXED_EXPONENT] = [-4, 16];

function decimalsOf(digits: string): number {
  return digits.replace(/^-?\d\.?/, "").length;
}

/** A value of `parseJson` with JavaScript's own numbers: `1.0` is 1. A `bigint` stays one. */
export function withPlainNumbers(value: unknown): unknown {
  if (value instanceof WholeFloat) return Number(value);
  if (Array.isArray(value)) return value.map(withPlainNumbers);
  if (typeof value !== "object" || value === null) return value;
  return mapValues(value, withPlainNumbers);
}
