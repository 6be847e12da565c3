import { str } from "./str.ts";
import { type Callable, Attributes, Series, asIndex, iterate } from "./values.ts";

/** The limit of Jinja's sandbox, which `transformers` uses. */
const MAX_RANGE = 100_000;

const range: Callable = (args) => {
  const [first = 0, second, step = 1] = args.map(asIndex);
  const [start, end] = second === undefined ? [0, first] : [first, second];
  if (step === 0) throw new Error("it calls range with a step of 0");
  const length = Math.max(0, Math.ceil((end - start) / step));
  if (length > MAX_RANGE) throw new Error(`it makes a range of more than ${MAX_RANGE} items`);
  const numbers = Array.from({ length }, (_, i) => start + i * step);
  return new Series("range", numbers, () =>
    step === 1 ? `range(${start}, ${end})` : `range(${start}, ${end}, ${step})`,
  );
};

const dict: Callable = ([source], kwargs) => {
  const entries =
    source instanceof Map ? source : iterate(source).map((pair) => [...iterate(pair)]);
  return new Map([...(entries as [unknown, unknown][]), ...kwargs]);
};

const namespace: Callable = (args, kwargs) => {
  const values = dict(args, kwargs) as Map<unknown, unknown>;
  return new Attributes(
    (name) => values.get(name),
    (name, value) => void values.set(name, value),
  );
};

const raise: Callable = ([message]) => {
  throw new Error(str(message));
};

/** Global names of every template. */
export const GLOBALS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ...["true", "True"].map((name): [string, unknown] => [name, true]),
  ...["false", "False"].map((name): [string, unknown] => [name, false]),
  ...["none", "None"].map((name): [string, unknown] => [name, null]),
  ["range", range],
  ["dict", dict],
  ["namespace", namespace],
  ["raise_exception", raise],
]);

/** Jinja's `loop` variable; `advance` moves to the next item. */
export function createLoop(items: readonly unknown[]): {
  attributes: Attributes;
  advance: () => void;
} {
  const { length } = items;
  let position = 0;
  const values: Record<string, () => unknown> = {
    index: () => position + 1,
    index0: () => position,
    revindex: () => length - position,
    revindex0: () => length - position - 1,
    first: () => position === 0,
    last: () => position === length - 1,
    length: () => length,
    depth: () => 1,
    depth0: () => 0,
    previtem: () => items[position - 1],
    nextitem: () => items[position + 1],
  };
  const attributes = new Attributes((name) =>
    Object.hasOwn(values, name) ? values[name]?.() : undefined,
  );
  return { attributes, advance: () => void position++ };
}

/** The variables of a block; assignments stay within it. */
export interface Scope {
  get: (name: string) => unknown;
  set: (name: string, value: unknown) => void;
}

/** @param outer the enclosing scope */
export function createScope(outer?: Scope, values: Iterable<[string, unknown]> = []): Scope {
  const own = new Map(values);
  return {
    get: (name) => (own.has(name) ? own.get(name) : outer?.get(name)),
    set: (name, value) => void own.set(name, value),
  };
}
