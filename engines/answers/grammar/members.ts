import type { Expression } from "./expression.ts";
import type { Expressions } from "./expressions.ts";

/**
 * Comma-separated members in order, then others. Optional members may be left out.
 * @param least members in all
 */
export function listed(
  of: Expressions,
  some: readonly { text: Expression; isNeeded: boolean }[],
  other: Expression,
  least = 0,
  most = Infinity,
): Expression {
  const comma = of.text(",");
  const known = new Map<string, Expression>();

  function from(place: number, low: number, high: number, isFirst: boolean): Expression {
    // A bound that holds anyway tells no places apart.
    const [bound, limit] = [
      Math.max(0, low),
      other === of.none && high >= some.length - place ? Infinity : high,
    ];
    const key = `${place},${bound},${limit},${isFirst}`;
    const found = known.get(key);
    if (found) return found;
    const made = make(place, bound, limit, isFirst);
    known.set(key, made);
    return made;
  }

  function make(place: number, low: number, high: number, isFirst: boolean): Expression {
    if (high < 0) return of.none;
    const member = some[place];
    const behind = of.sequence(comma, other);
    if (!member) {
      if (!isFirst) return of.repeat(behind, low, high);
      const one = of.sequence(other, of.repeat(behind, Math.max(0, low - 1), high - 1));
      return of.either(low === 0 ? of.empty : of.none, high > 0 ? one : of.none);
    }
    const rest = from(place + 1, low - 1, high - 1, false);
    const taken = of.sequence(...(isFirst ? [] : [comma]), member.text, rest);
    return member.isNeeded ? taken : of.either(taken, from(place + 1, low, high, isFirst));
  }

  return from(0, least, most, true);
}
