import type { Expression } from "./expression.ts";
import type { Expressions } from "./expressions.ts";

/** Digits before and after the point, at most: more than anybody means, and few enough for a finite double. */
export const DIGITS = 100;
export const GREATEST = 10n ** BigInt(DIGITS) - 1n;

/** From `from` to `to`; `from` is not negative. */
export function wholeNumbers(of: Expressions, from: bigint, to: bigint): Expression {
  if (from > to) return of.none;
  const [low, high] = [String(from), String(to)];
  if (low.length === high.length) return sameLength(of, low, high);
  const digit = digitsOf(of);
  const isFull = /^9+$/.test(high);
  // Their lengths lie between those of the ends.
  const rest = of.repeat(digit(0, 9), low.length, high.length - (isFull ? 1 : 2));
  return of.either(
    sameLength(of, low, "9".repeat(low.length)),
    of.sequence(digit(1, 9), rest),
    isFull ? of.none : sameLength(of, `1${"0".repeat(high.length - 1)}`, high),
  );
}

function sameLength(of: Expressions, low: string, high: string): Expression {
  if (low === "") return of.empty;
  const digit = digitsOf(of);
  if (/^0+$/.test(low) && /^9+$/.test(high)) {
    return of.repeat(digit(0, 9), low.length, low.length);
  }
  const [first, last] = [Number(low[0]), Number(high[0])];
  const [lowRest, highRest] = [low.slice(1), high.slice(1)];
  const any = of.repeat(digit(0, 9), lowRest.length, lowRest.length);
  if (first === last) {
    return of.sequence(digit(first, first), sameLength(of, lowRest, highRest));
  }
  const nines = "9".repeat(lowRest.length);
  const zeros = "0".repeat(lowRest.length);
  return of.either(
    of.sequence(digit(first, first), sameLength(of, lowRest, nines)),
    of.sequence(digit(first + 1, last - 1), any),
    of.sequence(digit(last, last), sameLength(of, zeros, highRest)),
  );
}

export function digitsOf(of: Expressions) {
  return (first: number, last: number): Expression =>
    first > last ? of.none : of.bytes([[0x30 + first, 0x30 + last]]);
}

/**
 * Nothing, or a point with digits.
 * @param from digits after the point, at least
 * @param to at most. Default: any
 */
export function fractions(of: Expressions, from = "", to?: string): Expression {
  const digit = digitsOf(of);

  /** One digit or more. @param left how many, at most */
  function more(left: number, low: string, high: string | undefined): Expression {
    if (left === 0) return of.none;
    if (low === "" && high === undefined) return of.repeat(digit(0, 9), 1, left);
    const [first, last] = [Number(low[0] ?? 0), Number(high?.[0] ?? (high === undefined ? 9 : 0))];
    const all = (one: string, other: string | undefined) =>
      of.either(more(left - 1, one, other), one === "" ? of.empty : of.none);
    const [lowRest, highRest] = [low.slice(1), high?.slice(1)];
    if (first === last) return of.sequence(digit(first, first), all(lowRest, highRest));
    return of.either(
      of.sequence(digit(first, first), all(lowRest, undefined)),
      of.sequence(digit(first + 1, last - 1), all("", undefined)),
      of.sequence(digit(last, last), all("", highRest)),
    );
  }

  return of.either(
    from === "" ? of.empty : of.none,
    of.sequence(of.text("."), more(DIGITS, from, to)),
  );
}
