import type { Expression } from "./expression.ts";
import type { Expressions } from "./expressions.ts";

/** An item of a list: one that matches and one that need not. */
export interface Item {
  match: Expression;
  other: Expression;
}

/** Limits of a list's items, and of those that match. */
export interface Counts {
  least: number;
  most: number;
  low: number;
  high: number;
}

/** Comma-separated items, of which so many match: those of the places, then others. */
export function containing(
  of: Expressions,
  { places, rest }: { places: readonly Item[]; rest: Item },
  counts: Counts,
): Expression {
  const known = new Map<string, Expression>();

  function from(place: number, { least, most, low, high }: Counts): Expression {
    if (most < 0 || high < 0) return of.none;
    const left = { least: Math.max(0, least), most, low: Math.max(0, low), high };
    const key = `${place},${Object.values(left).join()}`;
    const found = known.get(key) ?? make(place, left);
    known.set(key, found);
    return found;
  }

  function make(place: number, left: Counts): Expression {
    const comma = place === 0 ? of.empty : of.text(",");
    const { match, other } = places[place] ?? rest;
    const isRest = place >= places.length;
    const end = isRest && left.least === 0 && left.low === 0 ? of.empty : of.none;
    const next = Math.min(place + 1, Math.max(1, places.length));
    const after = (isMatch: boolean) =>
      from(next, {
        least: left.least - 1,
        most: left.most - 1,
        ...(isMatch
          ? { low: left.low - 1, high: left.high - 1 }
          : { low: left.low, high: left.high }),
      });
    const isEndless = isRest && place > 0 && left.least === 0 && left.most === Infinity;
    const isFree = left.low === 0 && left.high === Infinity;
    const found = () => of.sequence(comma, match, after(true));
    if (!isEndless) return of.either(end, found(), of.sequence(comma, other, after(false)));
    const one = isFree ? of.either(match, other) : other;
    return of.sequence(
      of.repeat(of.sequence(comma, one), 0, Infinity),
      isFree ? of.empty : of.either(end, found()),
    );
  }

  return from(0, counts);
}
