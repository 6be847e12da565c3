import { contains, isEqual, compare } from "./comparison.ts";
import { escaped, str } from "./str.ts";
import { UnsupportedInTemplate, tooLargeInteger } from "./unsupported.ts";
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
      return compare(left, right) < 0;
    case ">":
      return compare(left, right) > 0;
    case "<=":
      return compare(left, right) <= 0;
    case ">=":
      return compare(left, right) >= 0;
    case "in":
      return contains(right, left);
    case "not in":
      return !contains(right, left);
    case "~":
      return concatenate([left, right]);
    default:
      return compute(operator, left, right);
  }
}

/** Concatenates as `~` and `join` do; the result isn't marked safe. */
export function concatenate(values: readonly unknown[], separator: unknown = ""): string {
  const [texts, between] = [values.map(str), str(separator)];
  assertTextLength(texts.reduce((sum, text) => sum + text.length + between.length, 0));
  return texts.join(between);
}

function compute(operator: string, left: unknown, right: unknown): unknown {
  if (numeric(left) !== undefined && numeric(right) !== undefined) {
    return calculate(operator, left, right);
  }
  const [leftText, rightText] = [textIn(left), textIn(right)];
  if (operator === "+" && leftText !== undefined && rightText !== undefined) {
    return left instanceof Markup || right instanceof Markup
      ? new Markup(escaped(left) + escaped(right))
      : leftText + rightText;
  }
  if (operator === "+" && Array.isArray(left) && Array.isArray(right)) {
    if (isTuple(left) && isTuple(right))
      return tuple([...(left as unknown[]), ...(right as unknown[])]);
    if (!isTuple(left) && !isTuple(right)) return [...(left as unknown[]), ...(right as unknown[])];
  }
  if (operator === "%" && leftText !== undefined) {
    throw new UnsupportedInTemplate("it formats a text with %");
  }
  if (operator === "*") {
    if (isInteger(right)) return repeat(left, asIndex(right));
    if (isInteger(left)) return repeat(right, asIndex(left));
  }
  throw operandError(operator, left, right);
}

const operandError = (operator: string, left: unknown, right: unknown) =>
  new Error(`it computes ${typeName(left)} ${operator} ${typeName(right)}`);

function repeat(value: unknown, times: number): unknown {
  const text = textIn(value);
  const count = Math.max(0, times);
  assertTextLength(count);
  if (text !== undefined) {
    assertTextLength(text.length * count);
    return text.repeat(count);
  }
  if (!Array.isArray(value)) throw operandError("*", value, times);
  assertTextLength(value.length * count);
  const items: unknown[] = Array.from({ length: count }, () => value as unknown[]).flat();
  return isTuple(value) ? tuple(items) : items;
}

/** `-value` and `+value`. */
export function signed(sign: string, value: unknown): unknown {
  if (numeric(value) === undefined) throw new Error(`it computes ${sign}${typeName(value)}`);
  if (isFloat(value)) return asFloat(sign === "-" ? -Number(value) : Number(value));
  return calculate("*", value, sign === "-" ? -1 : 1);
}

/** @throws Error for a division by zero or an integer beyond 2^53 */
function calculate(operator: string, left: unknown, right: unknown): unknown {
  const result = arithmetic(operator, Number(numeric(left)), Number(numeric(right)));
  if (isFloat(left) || isFloat(right) || operator === "/") return asFloat(result);
  if ([left, right, result].every((number) => Number.isSafeInteger(Number(number)))) {
    // Avoids -0.
    return result + 0;
  }
  throw tooLargeInteger("computes with");
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
  const result = left % right;
  if (result === 0) return right < 0 ? -0 : 0;
  return result < 0 === right < 0 ? result : result + right;
}

/** Python's `//`, whose zero has the sign of the quotient. */
function floorDivide(left: number, right: number): number {
  const quotient = Math.round((left - modulo(left, right)) / right);
  return quotient === 0 && left === 0 ? left / right : quotient;
}
