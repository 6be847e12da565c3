import { contains, isEqual, order } from "./comparison.ts";
import { escaped, str } from "./str.ts";
import { UnsupportedInTemplate, bigInteger } from "./unsupported.ts";
import {
  Markup,
  asFloat,
  asIndex,
  assertTextLength,
  isFloat,
  isInteger,
  isTuple,
  numeric,
  textIn,
  tuple,
  typeName,
} from "./values.ts";

/** Applies a binary operator as in Python. @throws Error as Python would */
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
      return contains(right, left);
    case "not in":
      return !contains(right, left);
    case "~":
      return joined([left, right]);
    default:
      return computed(operator, left, right);
  }
}

/** Concatenates as `~` and `join` do; the result isn't marked safe. */
export function joined(values: readonly unknown[], separator: unknown = ""): string {
  const [texts, between] = [values.map(str), str(separator)];
  assertTextLength(texts.reduce((sum, text) => sum + text.length + between.length, 0));
  return texts.join(between);
}

function computed(operator: string, left: unknown, right: unknown): unknown {
  const [number, another] = [numeric(left), numeric(right)];
  if (number !== undefined && another !== undefined) {
    return calculated(operator, left, right);
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
  if (operator === "%" && text !== undefined) {
    throw new UnsupportedInTemplate("it formats a text with %");
  }
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
  assertTextLength(count);
  if (text !== undefined) {
    assertTextLength(text.length * count);
    return text.repeat(count);
  }
  if (!Array.isArray(value)) throw refused("*", value, times);
  assertTextLength(value.length * count);
  const items: unknown[] = Array.from({ length: count }, () => value as unknown[]).flat();
  return isTuple(value) ? tuple(items) : items;
}

/** `-value` and `+value`. */
export function signed(sign: string, value: unknown): unknown {
  if (numeric(value) === undefined) throw new Error(`it computes ${sign}${typeName(value)}`);
  if (isFloat(value)) return asFloat(sign === "-" ? -Number(value) : Number(value));
  return calculated("*", value, sign === "-" ? -1 : 1);
}

/** @throws Error for a division by zero or an integer beyond 2^53 */
function calculated(operator: string, left: unknown, right: unknown): unknown {
  const found = arithmetic(operator, Number(numeric(left)), Number(numeric(right)));
  if (isFloat(left) || isFloat(right) || operator === "/") return asFloat(found);
  if ([left, right, found].every((one) => Number.isSafeInteger(Number(one)))) {
    // Avoids -0.
    return found + 0;
  }
  throw bigInteger("computes with");
}

function arithmetic(operator: string, left: number, right: number): number {
  if (right === 0 && /[/%]/.test(operator)) throw new Error("it divides by zero");
  switch (operator) {
    case "+":
      return left + right;
    case "-":
      return left - right;
    case "*":
      return left * right;
    case "/":
      return left / right;
    case "//":
      return floorDivide(left, right);
    case "%":
      return modulo(left, right);
    default:
      throw new UnsupportedInTemplate(`it computes with "${operator}"`);
  }
}

/** Python's `%`, with the sign of the divisor. */
function modulo(left: number, right: number): number {
  const found = left % right;
  if (found === 0) return right < 0 ? -0 : 0;
  return found < 0 === right < 0 ? found : found + right;
}

/** Python's `//`, whose zero has the sign of the quotient. */
function floorDivide(left: number, right: number): number {
  const quotient = Math.round((left - modulo(left, right)) / right);
  return quotient === 0 && left === 0 ? left / right : quotient;
}
