import type { Expression, Expressions } from "./expressions.ts";

/** Comma-separated members in order, then others. Optional members may be left out. */
export function listed(
  of: Expressions,
  some: readonly { text: Expression; isNeeded: boolean }[],
  other: Expression,
  least = 0,
  most = Infinity,
): Expression {
  const comma = of.text(",");
  const moreOther = (from: number, to: number) => of.repeat(of.sequence(comma, other), from, to);
  // What may follow a member, and what may come first.
  let behind = moreOther(least, most);
  let first = of.either(
    least === 0 ? of.empty : of.none,
    most > 0 ? of.sequence(other, moreOther(Math.max(0, least - 1), most - 1)) : of.none,
  );
  for (const { text, isNeeded } of some.toReversed()) {
    const optional = (without: Expression) => (isNeeded ? of.none : without);
    first = of.either(of.sequence(text, behind), optional(first));
    behind = of.either(of.sequence(comma, text, behind), optional(behind));
  }
  return first;
}
