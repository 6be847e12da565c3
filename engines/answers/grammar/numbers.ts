import type { KitError } from "../../../protocol/error.ts";
import type { Expression, Expressions } from "./expressions.ts";
import { refused } from "./schemaNode.ts";

/** A bound of a range. */
export interface Bound {
  value: number;
  /** Whether the bound excludes its own value. */
  isOpen: boolean;
}

/** Undefined where there is none. */
export interface Bounds {
  least: Bound | undefined;
  most: Bound | undefined;
}

/** Digits before and after the point that a double always represents exactly. */
const DIGITS = 15;
const FRACTION = 10;
const GREATEST = 10 ** DIGITS - 1;

type Digits = (first: number, last: number) => Expression;

/**
 * Integers within bounds, without an exponent; those without a bound have up to 15 digits.
 * @returns `of.none` if no integer is within bounds
 */
export function integersOf(of: Expressions, { least, most }: Bounds): Expression {
  const lowest = least && Math.floor(least.value) + (isWithin(least) ? 0 : 1);
  const highest = most && Math.ceil(most.value) - (isWithin(most) ? 0 : 1);
  // Numbers with more digits only where a bound requires them.
  const low = lowest ?? (Number(highest) < -GREATEST ? Number.MIN_SAFE_INTEGER : -GREATEST);
  const high = highest ?? (Number(lowest) > GREATEST ? Number.MAX_SAFE_INTEGER : GREATEST);
  const safe = (value: number) =>
    Math.min(Number.MAX_SAFE_INTEGER, Math.max(Number.MIN_SAFE_INTEGER, value));
  if (low > Number.MAX_SAFE_INTEGER || high < Number.MIN_SAFE_INTEGER) throw tooFar();
  const [from, to] = [safe(low), safe(high)];
  return of.either(
    from > -1 ? of.none : of.sequence(of.text("-"), wholeNumbers(of, Math.max(1, -to), -from)),
    wholeNumbers(of, Math.max(0, from), to),
  );

  function isWithin({ value, isOpen }: Bound): boolean {
    return Number.isInteger(value) && !isOpen;
  }
}

/** From `least` to `most`, both non-negative. */
function wholeNumbers(of: Expressions, from: number, to: number): Expression {
  if (from > to) return of.none;
  const [low, high] = [String(from), String(to)];
  const parts: Expression[] = [];
  for (let length = low.length; length <= high.length; length++) {
    const first = length === low.length ? low : `1${"0".repeat(length - 1)}`;
    const last = length === high.length ? high : "9".repeat(length);
    parts.push(sameLength(of, first, last));
  }
  return of.either(...parts);
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

function digitsOf(of: Expressions): Digits {
  return (first, last) => (first > last ? of.none : of.bytes([[0x30 + first, 0x30 + last]]));
}

/** Numbers within bounds; an exponent is allowed only without bounds. `of.none` if no number is within them. */
export function numbersOf(of: Expressions, { least, most }: Bounds): Expression {
  if (!least && !most) return anyNumber(of);
  const zero = { value: 0, isOpen: false };
  const negated = ({ value, isOpen }: Bound): Bound => ({ value: -value, isOpen });
  // −0 is left out.
  const below = most && most.value <= 0 ? negated(most) : zero;
  const magnitude = below.value === 0 ? { value: 0, isOpen: true } : below;
  const negative =
    least && least.value >= 0
      ? of.none
      : of.sequence(of.text("-"), decimals(of, magnitude, least && negated(least)));
  const positive =
    most && most.value < 0 ? of.none : decimals(of, least && least.value >= 0 ? least : zero, most);
  return of.either(negative, positive);
}

function anyNumber(of: Expressions): Expression {
  const digit = of.bytes([[0x30, 0x39]]);
  const optional = (...parts: Expression[]) => of.repeat(of.sequence(...parts), 0, 1);
  const sign = of.bytes([
    [0x2b, 0x2b],
    [0x2d, 0x2d],
  ]);
  const exponent = of.bytes([
    [0x45, 0x45],
    [0x65, 0x65],
  ]);
  return of.sequence(
    optional(of.text("-")),
    wholeNumbers(of, 0, GREATEST),
    optional(of.text("."), of.repeat(digit, 1, DIGITS)),
    optional(exponent, optional(sign), of.repeat(digit, 1, 2)),
  );
}

/** From `least` to `most`, both non-negative. */
function decimals(of: Expressions, least: Bound, most: Bound | undefined): Expression {
  if (most && least.value > most.value) return of.none;
  if (least.value >= 10 ** DIGITS || (most?.isOpen === true && most.value === 10 ** DIGITS)) {
    throw tooFar();
  }
  const [low, fromFraction] = decimalOf(least.value);
  const [high, toFraction] =
    most && most.value < 10 ** DIGITS ? decimalOf(most.value) : [GREATEST, ""];
  if (low > high) return of.none;
  const upper = most && most.value < 10 ** DIGITS ? most : undefined;
  // Few enough digits that a number next to an exclusive bound does not round to it.
  const isOpen = least.isOpen || upper?.isOpen === true;
  const room = (whole: number, fraction: string) =>
    Math.max(fraction.length, isOpen ? Math.max(1, DIGITS - String(whole).length) : FRACTION);
  const count = Math.min(
    Math.max(FRACTION, fromFraction.length, toFraction.length),
    Math.max(room(low, fromFraction), upper ? room(high, toFraction) : 0),
  );
  for (const bound of [least, upper]) {
    if (bound?.isOpen === true && !isToldApart(bound.value, 10 ** -count)) throw tooFine();
  }
  const from = { digits: fromFraction, isOpen: least.isOpen };
  const to = upper && { digits: toFraction, isOpen: upper.isOpen };
  const whole = (first: number, last: number, fraction: Expression) =>
    of.sequence(wholeNumbers(of, first, last), fraction);
  if (low === high) return whole(low, low, fractions(of, count, from, to));
  return of.either(
    whole(low, low, fractions(of, count, from, undefined)),
    whole(low + 1, high - 1, fractions(of, count, undefined, undefined)),
    whole(high, high, fractions(of, count, undefined, to)),
  );
}

/** Whether a number one step away from a value stays distinct from it as a double. */
function isToldApart(value: number, step: number): boolean {
  return value - step / 8 !== value && value + step / 8 !== value;
}

function tooFar(): KitError {
  return refused('"minimum" or "maximum" of more digits than a double tells apart');
}

function tooFine(): KitError {
  return refused('"exclusiveMinimum" or "exclusiveMaximum" beside so fine a bound');
}

/** Digits after the point, not ending in 0. */
interface Fraction {
  digits: string;
  isOpen: boolean;
}

/** Nothing, or a point with up to so many digits, within bounds. */
function fractions(
  of: Expressions,
  count: number,
  from: Fraction | undefined,
  to: Fraction | undefined,
): Expression {
  const digit = digitsOf(of);

  /** Whether the number without further digits is within bounds. */
  const isEnough = (low?: Fraction, high?: Fraction) =>
    (!low || (low.digits === "" && !low.isOpen)) && (!high || high.digits !== "" || !high.isOpen);
  const rest = (bound: Fraction): Fraction => ({ ...bound, digits: bound.digits.slice(1) });

  function more(left: number, low?: Fraction, high?: Fraction): Expression {
    if (left === 0) return of.none;
    if (!low && !high) return of.repeat(digit(0, 9), 1, left);
    const [first, last] = [Number(low?.digits[0] ?? 0), high ? Number(high.digits[0] ?? 0) : 9];
    const all = (one?: Fraction, other?: Fraction) =>
      of.either(more(left - 1, one, other), isEnough(one, other) ? of.empty : of.none);
    if (low && high && first === last) {
      return of.sequence(digit(first, first), all(rest(low), rest(high)));
    }
    return of.either(
      low ? of.sequence(digit(first, first), all(rest(low), undefined)) : of.none,
      of.sequence(digit(low ? first + 1 : 0, high ? last - 1 : 9), all()),
      high ? of.sequence(digit(last, last), all(undefined, rest(high))) : of.none,
    );
  }

  return of.either(
    isEnough(from, to) ? of.empty : of.none,
    of.sequence(of.text("."), more(count, from, to)),
  );
}

/** The integer part of a non-negative number, and its digits after the point. */
function decimalOf(value: number): [whole: number, fraction: string] {
  const whole = Math.floor(value);
  const text = String(value);
  const [mantissa = "", exponent = "0"] = text.split("e");
  const [before = "", behind = ""] = mantissa.split(".");
  const shift = Number(exponent);
  const digits = shift < 0 ? "0".repeat(-shift - before.length) + before + behind : behind;
  return [whole, shift > 0 ? "" : digits.replace(/0+$/, "")];
}
