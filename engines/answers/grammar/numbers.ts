import type { KitError } from "../../../protocol/error.ts";
import { decimalOf, isLess, nextDouble } from "./decimal.ts";
import { DIGITS, GREATEST, digitsOf, fractions, wholeNumbers } from "./digits.ts";
import type { Expression } from "./expression.ts";
import type { Expressions } from "./expressions.ts";
import { refused } from "./schemaNode.ts";

/** A bound of a range. */
export interface Bound {
  /** Exact: a `bigint` may have more digits than a double. */
  value: number | bigint;
  /** Whether the bound excludes its own value. */
  isOpen: boolean;
}

/** Undefined where there is none. */
export interface Bounds {
  least: Bound | undefined;
  most: Bound | undefined;
}

/**
 * Integers within bounds, without an exponent, of up to 100 digits.
 * @returns `of.none` if no integer is within bounds
 */
export function integersOf(of: Expressions, { least, most }: Bounds): Expression {
  const low = least && lowestInteger(least);
  const high = most && -lowestInteger(negated(most));
  assertNear(low, high);
  const from = low === undefined || low < -GREATEST ? -GREATEST : low;
  const to = high === undefined || high > GREATEST ? GREATEST : high;
  const negative = wholeNumbers(of, to < 0n ? -to : 1n, -from);
  return of.either(
    of.sequence(of.text("-"), negative),
    wholeNumbers(of, from > 0n ? from : 0n, to),
  );
}

function lowestInteger({ value, isOpen }: Bound): bigint {
  if (typeof value === "number" && !Number.isInteger(value)) return BigInt(Math.ceil(value));
  return BigInt(value) + (isOpen ? 1n : 0n);
}

function negated({ value, isOpen }: Bound): Bound {
  return { value: -value, isOpen };
}

/**
 * Numbers within bounds, of up to 100 digits before and after the point. Positive numbers may have an exponent if they
 * have no bound but 0; likewise negative ones.
 * @returns `of.none` if no number is within bounds
 */
export function numbersOf(of: Expressions, { least, most }: Bounds): Expression {
  const [low, high] = [least && closed(least, 1), most && closed(most, -1)];
  assertNear(low, high);
  const from = low === undefined || isLess(low, -GREATEST) ? undefined : low;
  const to = high === undefined || isLess(GREATEST, high) ? undefined : high;
  const isBelow = from === undefined || from < 0;
  const isAbove = to === undefined || to >= 0;
  const magnitudes = from === undefined ? undefined : -from;
  const negative = isBelow
    ? decimals(of, to === undefined || to > 0 ? 0 : -to, magnitudes)
    : of.none;
  const positive = isAbove ? decimals(of, from === undefined || from < 0 ? 0 : from, to) : of.none;
  const found = of.either(of.sequence(of.text("-"), negative), positive);
  const isEmpty = from !== undefined && to !== undefined && isLess(to, from);
  if (found === of.none && !isEmpty) throw tooFar();
  return found;
}

/** The bound as inclusive: its own value, or, if it is exclusive, the next integer (for a bigint) or double inside it. */
function closed({ value, isOpen }: Bound, direction: 1 | -1): number | bigint {
  if (!isOpen) return value;
  return typeof value === "bigint" ? value + BigInt(direction) : nextDouble(value, direction);
}

/** From `from` to `to`, both non-negative. */
function decimals(
  of: Expressions,
  from: number | bigint,
  to: number | bigint | undefined,
): Expression {
  if (to === undefined && Number(from) === 0) return magnitude(of);
  if (to !== undefined && isLess(to, from)) return of.none;
  const low = decimalOf(from);
  const part = (first: bigint, last: bigint, fraction: Expression) =>
    of.sequence(wholeNumbers(of, first, last), fraction);
  const least = fractions(of, low.fraction, undefined);
  if (to === undefined) {
    return of.either(
      part(low.whole, low.whole, least),
      part(low.whole + 1n, GREATEST, fractions(of)),
    );
  }
  const high = decimalOf(to);
  if (low.whole === high.whole) {
    return part(low.whole, low.whole, fractions(of, low.fraction, high.fraction));
  }
  return of.either(
    part(low.whole, low.whole, least),
    part(low.whole + 1n, high.whole - 1n, fractions(of)),
    part(high.whole, high.whole, fractions(of, "", high.fraction)),
  );
}

/** Any unsigned number. Exponents to 199 after any digits, or 200 to 307 after one digit: always finite as a double. */
function magnitude(of: Expressions): Expression {
  const digit = digitsOf(of);
  const hundreds = (first: number, last: number) =>
    of.sequence(digit(first, last), digit(0, 9), digit(0, 9));
  const few = of.repeat(digit(0, 9), 1, 2);
  const e = of.either(of.text("e"), of.text("E"));
  const minus = of.sequence(of.text("-"), of.repeat(digit(0, 9), 1, 3));
  const plus = (...exponents: Expression[]) =>
    of.sequence(of.repeat(of.text("+"), 0, 1), of.either(...exponents));
  const exponent = of.sequence(e, of.either(minus, plus(few, hundreds(1, 1))));
  const greatExponent = of.sequence(
    e,
    plus(hundreds(2, 2), of.sequence(of.text("30"), digit(0, 7))),
  );
  return of.either(
    of.sequence(wholeNumbers(of, 0n, GREATEST), fractions(of), of.repeat(exponent, 0, 1)),
    of.sequence(digit(0, 9), fractions(of), greatExponent),
  );
}

/** @throws KitError `REQUEST_INVALID` where all numbers within bounds have more than 100 digits */
function assertNear(low: number | bigint | undefined, high: number | bigint | undefined): void {
  const isFar =
    (low !== undefined && isLess(GREATEST, low)) || (high !== undefined && isLess(high, -GREATEST));
  if (isFar) throw tooFar();
}

function tooFar(): KitError {
  return refused(`"minimum" or "maximum" of more than ${DIGITS} digits`);
}
