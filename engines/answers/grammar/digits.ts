import type { Expression } from "./expression.ts";
import type { Expressions } from "./expressions.ts";

/** Maximum digits before and after the point: more than anyone needs, yet a double stays finite. */
export const MAX_DIGITS = 100;
export const MAX_INTEGER = 10n ** BigInt(MAX_DIGITS) - 1n;

/** Integers from `from` to `to`, both non-negative. */
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

/** Numbers from `low` to `high`, which have equally many digits. */
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
 * An optional fraction: nothing, or a point and digits.
 * @param from lowest digits after the point
 * @param to highest digits after the point. Default: any
 */
export function fractions(grammar: Expressions, from = "", to?: string): Expression {
  const digit = digitsOf(grammar);

  /** @param max maximum digits, of which at least one is needed */
  function oneOrMore(max: number, low: string, high: string | undefined): Expression {
    if (max === 0) return grammar.none;
    if (low === "" && high === undefined) return grammar.repeat(digit(0, 9), 1, max);
    const [first, last] = [Number(low[0] ?? 0), Number(high?.[0] ?? (high === undefined ? 9 : 0))];
    const rest = (from: string, to: string | undefined) =>
      grammar.either(oneOrMore(max - 1, from, to), from === "" ? grammar.empty : grammar.none);
    const [lowRest, highRest] = [low.slice(1), high?.slice(1)];
    if (first === last) return grammar.sequence(digit(first, first), rest(lowRest, highRest));
    return grammar.either(
      grammar.sequence(digit(first, first), rest(lowRest, undefined)),
      grammar.sequence(digit(first + 1, last - 1), rest("", undefined)),
      grammar.sequence(digit(last, last), rest("", highRest)),
    );
  }

  return grammar.either(
    from === "" ? grammar.empty : grammar.none,
    grammar.sequence(grammar.text("."), oneOrMore(MAX_DIGITS, from, to)),
  );
}
