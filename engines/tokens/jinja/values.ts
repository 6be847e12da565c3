import { WholeFloat, keysOf } from "../../../protocol/json.ts";

// Python's values: undefined is Jinja's `Undefined`, null `None`, a `Map` a dict, an array a list or a
// tuple. Numbers are those of `parseJson`.

/** Text marked as safe by `safe` or `escape`. Text that is appended to it is escaped. */
export class Markup extends String {}

/** A callable, such as a macro or a method. */
export type Callable = (args: unknown[], kwargs: Kwargs) => unknown;

/** Keyword arguments by name. */
export type Kwargs = ReadonlyMap<string, unknown>;

/** An object with attributes only, such as a namespace or `loop`. */
export class Attributes {
  readonly get: (name: string) => unknown;
  /** Undefined if read-only. */
  readonly set: ((name: string, value: unknown) => void) | undefined;

  constructor(get: Attributes["get"], set?: (name: string, value: unknown) => void) {
    this.get = get;
    this.set = set;
  }
}

/** Iterables other than lists: Python's dict views, ranges and generators. */
export class Series {
  readonly kind: "view" | "range" | "generator";
  /** Its `repr`; undefined for a generator, whose repr is an address. */
  readonly text: (() => string) | undefined;
  private values: readonly unknown[];

  constructor(kind: Series["kind"], values: readonly unknown[], text?: () => string) {
    this.kind = kind;
    this.values = values;
    this.text = text;
  }

  get size(): number {
    return this.values.length;
  }

  /** The values; a generator yields them only once. */
  take(): readonly unknown[] {
    const { values } = this;
    if (this.kind === "generator") this.values = [];
    return values;
  }
}

export const generator = (values: readonly unknown[]) => new Series("generator", values);

const TUPLES = new WeakSet();

export function tuple(values: unknown[]): unknown[] {
  TUPLES.add(values);
  return values;
}

export const isTuple = (value: unknown) => Array.isArray(value) && TUPLES.has(value);

/** Converts parsed JSON to a template's values. */
export function fromJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(fromJson);
  if (typeof value !== "object" || value === null || value instanceof WholeFloat) return value;
  const object = value as Record<string, unknown>;
  const entries = keysOf(object).map((key): [string, unknown] => [key, fromJson(object[key])]);
  // Python has no undefined.
  return new Map(entries.filter(([, item]) => item !== undefined));
}

/** A string, whether marked as safe or not; undefined for other values. */
export function textIn(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return value instanceof Markup ? String(value) : undefined;
}

/** A number or boolean as a number or bigint; undefined for other values. */
export function numeric(value: unknown): number | bigint | undefined {
  if (typeof value === "boolean" || value instanceof WholeFloat) return Number(value);
  return typeof value === "number" || typeof value === "bigint" ? value : undefined;
}

export const isFloat = (value: unknown) =>
  value instanceof WholeFloat || (typeof value === "number" && !Number.isInteger(value));

/** An integer or a boolean, which is an int in Python. */
export const isInteger = (value: unknown) => numeric(value) !== undefined && !isFloat(value);

export const asFloat = (value: number) => (Number.isInteger(value) ? new WholeFloat(value) : value);

/** @throws Error for anything but an integer */
export function asIndex(value: unknown): number {
  const number = isInteger(value) ? numeric(value) : undefined;
  if (number === undefined) throw new Error(`it uses a ${typeName(value)} as an int`);
  return Number(number);
}

export function isTrue(value: unknown): boolean {
  const number = numeric(value);
  if (number !== undefined) return Boolean(number);
  if (value === undefined || value === null) return false;
  return value instanceof Series && value.kind === "generator" ? true : lengthOf(value) !== 0;
}

/** Python's `len`; undefined for values without a length. */
export function lengthOf(value: unknown): number | undefined {
  const text = textIn(value);
  if (text !== undefined) return hasAstral(text) ? charactersOf(text).length : text.length;
  if (Array.isArray(value)) return value.length;
  if (value instanceof Map) return value.size;
  if (value instanceof Series && value.kind !== "generator") return value.take().length;
  return value === undefined ? 0 : undefined;
}

/** @throws Error for a value that isn't iterable */
export function iterate(value: unknown): readonly unknown[] {
  const text = textIn(value);
  if (text !== undefined) return charactersOf(text);
  if (Array.isArray(value)) return value;
  if (value instanceof Map) return [...value.keys()];
  if (value instanceof Series) return value.take();
  if (value === undefined) return [];
  throw new Error(`it iterates over a ${typeName(value)}`);
}

export const isIterable = (value: unknown) =>
  lengthOf(value) !== undefined || value instanceof Series;

/** Python counts code points, not UTF-16 units. */
export const charactersOf = (text: string): string[] =>
  hasAstral(text) ? Array.from(text) : text.split("");

/** Whether a text has characters beyond U+FFFF, which are two UTF-16 units. */
export const hasAstral = (text: string) => /[\ud800-\udbff]/.test(text);

/** A dict key as a `Map` key, where `1.0` equals 1. @throws Error for an unhashable value */
export function dictKey(value: unknown): unknown {
  if (value instanceof WholeFloat) return Number(value);
  if (value instanceof Map || (Array.isArray(value) && !isTuple(value))) {
    throw new Error(`it uses a ${typeName(value)} as a dict key`);
  }
  return textIn(value) ?? value;
}

/** A value's Python type, for errors. */
export function typeName(value: unknown): string {
  if (value === undefined) return "undefined value";
  if (value === null) return "NoneType";
  if (typeof value === "boolean") return "bool";
  if (textIn(value) !== undefined) return "str";
  if (numeric(value) !== undefined) return isFloat(value) ? "float" : "int";
  if (Array.isArray(value)) return isTuple(value) ? "tuple" : "list";
  if (value instanceof Map) return "dict";
  return value instanceof Series ? value.kind : "function";
}

/** Maximum characters that a single operation may produce. */
const MAX_TEXT_LENGTH = 2 ** 26;

/** @throws Error for a text that would be too long */
export function assertTextLength(length: number): void {
  if (length > MAX_TEXT_LENGTH)
    throw new Error(`it writes more than ${MAX_TEXT_LENGTH} characters`);
}
