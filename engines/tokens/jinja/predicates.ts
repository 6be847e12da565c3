import { contains } from "./comparison.ts";
import { operate } from "./operators.ts";
import { str } from "./str.ts";
import { UnsupportedInTemplate } from "./unsupported.ts";
import { Markup, Series, isFloat, isInteger, isIterable, numeric, textIn } from "./values.ts";

type Test = (value: unknown, ...args: unknown[]) => boolean;

const compare =
  (operator: string): Test =>
  (value, other) =>
    operate(operator, value, other) === true;

/** Whether a text equals its variant in one case, and has letters that the other case changes. */
const isInCase = (value: unknown, variant: string, other: string) =>
  str(value) === variant && other !== variant;

/** Tests of `is`, `select` and the like, by Jinja's names. */
const TESTS: ReadonlyMap<string, Test> = new Map<string, Test>([
  ["defined", (value) => value !== undefined],
  ["undefined", (value) => value === undefined],
  ["none", (value) => value === null],
  ["boolean", (value) => typeof value === "boolean"],
  ["true", (value) => value === true],
  ["false", (value) => value === false],
  ["integer", (value) => isInteger(value) && typeof value !== "boolean"],
  ["float", isFloat],
  ["number", (value) => numeric(value) !== undefined],
  ["string", (value) => textIn(value) !== undefined],
  ["mapping", (value) => value instanceof Map],
  ["iterable", isIterable],
  [
    "sequence",
    (value) => isIterable(value) && (!(value instanceof Series) || value.kind === "range"),
  ],
  // Jinja's `Undefined` can be called, to fail.
  ["callable", (value) => typeof value === "function" || value === undefined],
  ["odd", (value) => Number(operate("%", value, 2)) === 1],
  ["even", (value) => Number(operate("%", value, 2)) === 0],
  ["divisibleby", (value, by) => Number(operate("%", value, by)) === 0],
  ["lower", (value) => isInCase(value, str(value).toLowerCase(), str(value).toUpperCase())],
  ["upper", (value) => isInCase(value, str(value).toUpperCase(), str(value).toLowerCase())],
  ["escaped", (value) => value instanceof Markup],
  ["sameas", (value, other) => value === other],
  ["in", (value, container) => contains(container, value)],
  ...["==", "eq", "equalto"].map((name): [string, Test] => [name, compare("==")]),
  ...["!=", "ne"].map((name): [string, Test] => [name, compare("!=")]),
  ...[">", "gt", "greaterthan"].map((name): [string, Test] => [name, compare(">")]),
  ...["<", "lt", "lessthan"].map((name): [string, Test] => [name, compare("<")]),
  ...[">=", "ge"].map((name): [string, Test] => [name, compare(">=")]),
  ...["<=", "le"].map((name): [string, Test] => [name, compare("<=")]),
]);

/** @throws UnsupportedInTemplate for an unknown test */
export function testOf(name: string): Test {
  const test = TESTS.get(name);
  if (test) return test;
  throw new UnsupportedInTemplate(`it uses the test "${name}"`);
}
