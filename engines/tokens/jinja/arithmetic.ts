import { asFloat } from "./values.ts";

/** @throws Error for a division by zero */
export function ofFloats(operator: string, left: number, right: number): unknown {
  if (right === 0 && /[/%]/.test(operator)) throw new Error("it divides by zero");
  switch (operator) {
    case "+":
      return asFloat(left + right);
    case "-":
      return asFloat(left - right);
    case "*":
      return asFloat(left * right);
    case "/":
      return asFloat(left / right);
    case "//":
      return asFloat(nearest(left, right));
    case "%":
      return asFloat(rest(left, right));
    default:
      return asFloat(left ** right);
  }
}

/** With the sign of the divisor, also of a zero. */
function rest(left: number, right: number): number {
  const found = left % right;
  if (found === 0) return right < 0 ? -0 : 0;
  return found < 0 === right < 0 ? found : found + right;
}

/** As Python's `//`, whose zero has the sign of the quotient. */
function nearest(left: number, right: number): number {
  const quotient = Math.round((left - rest(left, right)) / right);
  return quotient === 0 && left === 0 ? left / right : quotient;
}

/** Digits of the largest integer that a template may compute. */
const MOST_DIGITS = 5_000;

/** @throws Error for a division by zero, or a number of too many digits */
export function ofIntegers(
  operator: string,
  left: number | bigint,
  right: number | bigint,
): unknown {
  if (operator === "**" && right < 0) return ofFloats("**", Number(left), Number(right));
  if (/^(\/\/|%)$/.test(operator) && Number(right) === 0) throw new Error("it divides by zero");
  if (typeof left === "number" && typeof right === "number") {
    const exact = ofNumbers(operator, left, right);
    // JavaScript has a zero below zero.
    if (Number.isSafeInteger(exact)) return exact + 0;
  }
  const digits = String(left).length * (operator === "**" ? Number(right) : 1);
  if (digits + String(right).length > MOST_DIGITS) {
    throw new Error(`it computes a number of more than ${MOST_DIGITS} digits`);
  }
  return normalized(ofBigints(operator, BigInt(left), BigInt(right)));
}

function ofNumbers(operator: string, left: number, right: number): number {
  switch (operator) {
    case "+":
      return left + right;
    case "-":
      return left - right;
    case "*":
      return left * right;
    case "//":
      return Math.floor(left / right);
    case "%":
      return rest(left, right);
    default:
      return left ** right;
  }
}

function ofBigints(operator: string, left: bigint, right: bigint): bigint {
  const remainder = operator === "//" || operator === "%" ? ((left % right) + right) % right : 0n;
  switch (operator) {
    case "+":
      return left + right;
    case "-":
      return left - right;
    case "*":
      return left * right;
    case "//":
      return (left - remainder) / right;
    case "%":
      return remainder;
    default:
      return left ** right;
  }
}

/** As `parseJson` gives it. */
export function normalized(value: bigint): number | bigint {
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}
