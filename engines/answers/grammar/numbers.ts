import type { KitError } from "../../../protocol/error.ts";
import { decimalOf, isLess, nextDouble } from "./decimal.ts";
import { MAX_DIGITS, MAX_INTEGER, digitsOf, fractions, wholeNumbers } from "./digits.ts";
import type { Expression } from "./expression.ts";
import type { Expressions } from "./expressions.ts";
import { unsupported } from "./schemaNode.ts";

export interface Bound {
  /** Exact: a `bigint` may have more digits than a double. */
  value: number | bigint;
  /** Whether the bound excludes its own value. */
  isExclusive: boolean;
}

/** Undefined means unbounded. */
export interface Bounds {
  lower: Bound | undefined;
  upper: Bound | undefined;
}

/**
 * Integers within bounds, without an exponent, of up to 100 digits.
 * @returns `grammar.none` if no integer is within bounds
 */
export function integersOf(grammar: Expressions, { lower, upper }: Bounds): Expression {
  const low = lower && lowestInteger(lower);
  const high = upper && -lowestInteger(negated(upper));
  assertWithinDigits(low, high);
  const from = low === undefined || low < -MAX_INTEGER ? -MAX_INTEGER : low;
  const to = high === undefined || high > MAX_INTEGER ? MAX_INTEGER : high;
  const negative = wholeNumbers(grammar, to < 0n ? -to : 1n, -from);
  return grammar.either(
    grammar.sequence(grammar.text("-"), negative),
    wholeNumbers(grammar, from > 0n ? from : 0n, to),
  );
}

function lowestInteger({ value, isExclusive }: Bound): bigint {
  if (typeof value === "number" && !Number.isInteger(value)) return BigInt(Math.ceil(value));
  return BigInt(value) + (isExclusive ? 1n : 0n);
}

function negated({ value, isExclusive }: Bound): Bound {
  return { value: -value, isExclusive };
}

/**
 * Numbers within bounds, of up to 100 digits before and after the point. Positive numbers may have an exponent if they
 * have no bound but 0; likewise negative ones.
 * @returns `grammar.none` if no number is within bounds
 */
export function numbersOf(grammar: Expressions, { lower, upper }: Bounds): Expression {
  const [low, high] = [lower && toInclusive(lower, 1), upper && toInclusive(upper, -1)];
  assertWithinDigits(low, high);
  const from = low === undefined || isLess(low, -MAX_INTEGER) ? undefined : low;
  const to = high === undefined || isLess(MAX_INTEGER, high) ? undefined : high;
  const hasNegative = from === undefined || from < 0;
  const hasPositive = to === undefined || to >= 0;
  const magnitudes = from === undefined ? undefined : -from;
  const negative = hasNegative
    ? decimals(grammar, to === undefined || to > 0 ? 0 : -to, magnitudes)
    : grammar.none;
  const positive = hasPositive
    ? decimals(grammar, from === undefined || from < 0 ? 0 : from, to)
    : grammar.none;
  const found = grammar.either(grammar.sequence(grammar.text("-"), negative), positive);
  const isEmpty = from !== undefined && to !== undefined && isLess(to, from);
  if (found === grammar.none && !isEmpty) throw tooManyDigits();
  return found;
}

/** The bound as inclusive: its own value, or, if it is exclusive, the next integer (for a bigint) or double inside it. */
function toInclusive({ value, isExclusive }: Bound, direction: 1 | -1): number | bigint {
  if (!isExclusive) return value;
  return typeof value === "bigint" ? value + BigInt(direction) : nextDouble(value, direction);
}

/** Decimal numbers from `from` to `to`, both non-negative. */
function decimals(
  grammar: Expressions,
  from: number | bigint,
  to: number | bigint | undefined,
): Expression {
  if (to === undefined && Number(from) === 0) return magnitude(grammar);
  if (to !== undefined && isLess(to, from)) return grammar.none;
  const low = decimalOf(from);
  const numbers = (first: bigint, last: bigint, fraction: Expression) =>
    grammar.sequence(wholeNumbers(grammar, first, last), fraction);
  const aboveLow = fractions(grammar, low.fraction, undefined);
  if (to === undefined) {
    return grammar.either(
      numbers(low.whole, low.whole, aboveLow),
      numbers(low.whole + 1n, MAX_INTEGER, fractions(grammar)),
    );
  }
  const high = decimalOf(to);
  if (low.whole === high.whole) {
    return numbers(low.whole, low.whole, fractions(grammar, low.fraction, high.fraction));
  }
  return grammar.either(
    numbers(low.whole, low.whole, aboveLow),
    numbers(low.whole + 1n, high.whole - 1n, fractions(grammar)),
    numbers(high.whole, high.whole, fractions(grammar, "", high.fraction)),
  );
}

/** Any unsigned number. Exponents to 199 after any digits, or 200 to 307 after one digit: always finite as a double. */
function magnitude(grammar: Expressions): Expression {
  const digit = digitsOf(grammar);
  const threeDigits = (first: number, last: number) =>
    grammar.sequence(digit(first, last), digit(0, 9), digit(0, 9));
  const upTo99 = grammar.repeat(digit(0, 9), 1, 2);
  const e = grammar.either(grammar.text("e"), grammar.text("E"));
  const minus = grammar.sequence(grammar.text("-"), grammar.repeat(digit(0, 9), 1, 3));
  const plus = (...exponents: Expression[]) =>
    grammar.sequence(grammar.repeat(grammar.text("+"), 0, 1), grammar.either(...exponents));
  const exponent = grammar.sequence(e, grammar.either(minus, plus(upTo99, threeDigits(1, 1))));
  const largeExponent = grammar.sequence(
    e,
    plus(threeDigits(2, 2), grammar.sequence(grammar.text("30"), digit(0, 7))),
  );
  return grammar.either(
    grammar.sequence(
      wholeNumbers(grammar, 0n, MAX_INTEGER),
      fractions(grammar),
      grammar.repeat(exponent, 0, 1),
    ),
    grammar.sequence(digit(0, 9), fractions(grammar), largeExponent),
  );
}

/** @throws KitError `REQUEST_INVALID` if all numbers within bounds have more than 100 digits */
function assertWithinDigits(
  low: number | bigint | undefined,
  high: number | bigint | undefined,
): void {
  const exceedsDigits =
    (low !== undefined && isLess(MAX_INTEGER, low)) ||
    (high !== undefined && isLess(high, -MAX_INTEGER));
  if (exceedsDigits) throw tooManyDigits();
}

function tooManyDigits(): KitError {
  return unsupported(`"minimum" or "maximum" of more than ${MAX_DIGITS} digits`);
}
