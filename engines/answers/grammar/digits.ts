import type { Expression } from "./expression.ts";
import type { Expressions } from "./expressions.ts";

/** Limit of digits before and after the point: more than anyone needs, yet a finite double. */
export const DIGITS = 100;
export const MAX_INTEGER = 10n ** BigInt(DIGITS) - 1n;

/** From `from` to `to`, both non-negative. */
export function wholeNumbers(grammar: Expressions, from: bigint, to: bigint): Expression {
  if (from > to) return grammar.none;
  const [low, high] = [String(from), String(to)];
  if (low.length === high.length) return sameLength(grammar, low, high);
  const digit = digitsOf(grammar);
  const isFull = /^9+$/.test(high);
  // Numbers with more digits than `from` and fewer than `to`.
  const rest = grammar.repeat(digit(0, 9), low.length, high.length - (isFull ? 1 : 2));
  return grammar.either(
    sameLength(grammar, low, "9".repeat(low.length)),
    grammar.sequence(digit(1, 9), rest),
    isFull ? grammar.none : sameLength(grammar, `1${"0".repeat(high.length - 1)}`, high),
  );
}

function sameLength(grammar: Expressions, low: string, high: string): Expression {
  if (low === "") return grammar.empty;
  const digit = digitsOf(grammar);
  if (/^0+$/.test(low) && /^9+$/.test(high)) {
    return grammar.repeat(digit(0, 9), low.length, low.length);
  }
  const [first, last] = [Number(low[0]), Number(high[0])];
  const [lowRest, highRest] = [low.slice(1), high.slice(1)];
  const any = grammar.repeat(digit(0, 9), lowRest.length, lowRest.length);
  if (first === last) {
    return grammar.sequence(digit(first, first), sameLength(grammar, lowRest, highRest));
  }
  const nines = "9".repeat(lowRest.length);
  const zeros = "0".repeat(lowRest.length);
  return grammar.either(
    grammar.sequence(digit(first, first), sameLength(grammar, lowRest, nines)),
    grammar.sequence(digit(first + 1, last - 1), any),
    grammar.sequence(digit(last, last), sameLength(grammar, zeros, highRest)),
  );
}

export function digitsOf(grammar: Expressions) {
  return (first: number, last: number): Expression =>
    first > last ? grammar.none : grammar.bytes([[0x30 + first, 0x30 + last]]);
}

/**
 * Nothing, or a point with digits.
 * @param from lowest digits after the point
 * @param to highest digits after the point. Default: any
 */
export function fractions(grammar: Expressions, from = "", to?: string): Expression {
  const digit = digitsOf(grammar);

  /** One digit or more. @param left maximum digits */
  function more(left: number, low: string, high: string | undefined): Expression {
    if (left === 0) return grammar.none;
    if (low === "" && high === undefined) return grammar.repeat(digit(0, 9), 1, left);
    const [first, last] = [Number(low[0] ?? 0), Number(high?.[0] ?? (high === undefined ? 9 : 0))];
    const all = (one: string, other: string | undefined) =>
      grammar.either(more(left - 1, one, other), one === "" ? grammar.empty : grammar.none);
    const [lowRest, highRest] = [low.slice(1), high?.slice(1)];
    if (first === last) return grammar.sequence(digit(first, first), all(lowRest, highRest));
    return grammar.either(
      grammar.sequence(digit(first, first), all(lowRest, undefined)),
      grammar.sequence(digit(first + 1, last - 1), all("", undefined)),
      grammar.sequence(digit(last, last), all("", highRest)),
    );
  }

  return grammar.either(
    from === "" ? grammar.empty : grammar.none,
    grammar.sequence(grammar.text("."), more(DIGITS, from, to)),
  );
}
