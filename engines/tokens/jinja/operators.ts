import { ofFloats, ofIntegers } from "./arithmetic.ts";
import { holds, isEqual, order } from "./comparison.ts";
import { formatted } from "./percentFormat.ts";
import {
  Markup,
  asFloat,
  asIndex,
  assertModest,
  isFloat,
  isInteger,
  isTuple,
  numeric,
  textIn,
  tuple,
  typeName,
} from "./values.ts";
import { escaped, written } from "./writing.ts";

/** What an operator of two values makes of them, as in Python. @throws Error as Python would */
export function operate(operator: string, left: unknown, right: unknown): unknown {
  switch (operator) {
    case "==":
      return isEqual(left, right);
    case "!=":
      return !isEqual(left, right);
    case "<":
      return order(left, right) < 0;
    case ">":
      return order(left, right) > 0;
    case "<=":
      return order(left, right) <= 0;
    case ">=":
      return order(left, right) >= 0;
    case "in":
      return holds(right, left);
    case "not in":
      return !holds(right, left);
    case "~":
      return joined([left, right]);
    default:
      return computed(operator, left, right);
  }
}

/** Texts one after another, as `~` and `join` put them, which mark nothing safe. */
export function joined(values: readonly unknown[], separator: unknown = ""): string {
  const [texts, between] = [values.map(written), written(separator)];
  assertModest(texts.reduce((sum, text) => sum + text.length + between.length, 0));
  return texts.join(between);
}

function computed(operator: string, left: unknown, right: unknown): unknown {
  const [number, another] = [numeric(left), numeric(right)];
  if (number !== undefined && another !== undefined) {
    return isFloat(left) || isFloat(right) || operator === "/"
      ? ofFloats(operator, Number(number), Number(another))
      : ofIntegers(operator, number, another);
  }
  const [text, second] = [textIn(left), textIn(right)];
  if (operator === "+" && text !== undefined && second !== undefined) {
    return left instanceof Markup || right instanceof Markup
      ? new Markup(escaped(left) + escaped(right))
      : text + second;
  }
  if (operator === "+" && Array.isArray(left) && Array.isArray(right)) {
    if (isTuple(left) && isTuple(right))
      return tuple([...(left as unknown[]), ...(right as unknown[])]);
    if (!isTuple(left) && !isTuple(right)) return [...(left as unknown[]), ...(right as unknown[])];
  }
  if (operator === "%" && text !== undefined) return formatted(text, right);
  if (operator === "*") {
    if (isInteger(right)) return repeated(left, asIndex(right));
    if (isInteger(left)) return repeated(right, asIndex(left));
  }
  throw refused(operator, left, right);
}

const refused = (operator: string, left: unknown, right: unknown) =>
  new Error(`it computes ${typeName(left)} ${operator} ${typeName(right)}`);

function repeated(value: unknown, times: number): unknown {
  const text = textIn(value);
  const count = Math.max(0, times);
  assertModest(count);
  if (text !== undefined) {
    assertModest(text.length * count);
    return text.repeat(count);
  }
  if (!Array.isArray(value)) throw refused("*", value, times);
  assertModest(value.length * count);
  const items: unknown[] = Array.from({ length: count }, () => value as unknown[]).flat();
  return isTuple(value) ? tuple(items) : items;
}

/** `-value` and `+value`. */
export function signed(sign: string, value: unknown): unknown {
  if (numeric(value) === undefined) throw new Error(`it computes ${sign}${typeName(value)}`);
  if (isFloat(value)) return asFloat(sign === "-" ? -Number(value) : Number(value));
  return ofIntegers("*", numeric(value)!, sign === "-" ? -1 : 1);
}
