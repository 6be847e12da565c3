import { argumentsAs } from "./arguments.ts";
import { type Callable, Attributes, Series, asIndex, iterate } from "./values.ts";
import { written } from "./writing.ts";

/** Of Jinja's sandbox, which `transformers` renders in. */
const LONGEST_RANGE = 100_000;

const range: Callable = (args) => {
  const [first = 0, second, step = 1] = args.map(asIndex);
  const [start, end] = second === undefined ? [0, first] : [first, second];
  if (step === 0) throw new Error("it counts by 0");
  const length = Math.max(0, Math.ceil((end - start) / step));
  if (length > LONGEST_RANGE) throw new Error(`it counts further than ${LONGEST_RANGE}`);
  const numbers = Array.from({ length }, (_, i) => start + i * step);
  return new Series("range", numbers, () =>
    step === 1 ? `range(${start}, ${end})` : `range(${start}, ${end}, ${step})`,
  );
};

const dict: Callable = ([given], named) => {
  const entries = given instanceof Map ? given : iterate(given).map((pair) => [...iterate(pair)]);
  return new Map([...(entries as [unknown, unknown][]), ...named]);
};

const namespace: Callable = (args, named) => {
  const values = dict(args, named) as Map<unknown, unknown>;
  return new Attributes(
    (name) => values.get(name),
    (name, value) => void values.set(name, value),
  );
};

const cycler: Callable = (args) => {
  let at = 0;
  const next: Callable = () => args[at++ % args.length];
  const reset: Callable = () => void (at = 0);
  const values: Record<string, () => unknown> = {
    current: () => args[at % args.length],
    next: () => next,
    reset: () => reset,
  };
  return new Attributes((name) => (Object.hasOwn(values, name) ? values[name]?.() : undefined));
};

const joiner: Callable = (args, named) => {
  const [separator = ", "] = argumentsAs(["sep"], args, named);
  let isFirst = true;
  return () => {
    const text = isFirst ? "" : separator;
    isFirst = false;
    return text;
  };
};

const raise: Callable = ([message]) => {
  throw new Error(written(message));
};

/** The names that every template knows. */
export const GLOBALS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ...["true", "True"].map((name): [string, unknown] => [name, true]),
  ...["false", "False"].map((name): [string, unknown] => [name, false]),
  ...["none", "None"].map((name): [string, unknown] => [name, null]),
  ["range", range],
  ["dict", dict],
  ["namespace", namespace],
  ["cycler", cycler],
  ["joiner", joiner],
  ["raise_exception", raise],
]);
