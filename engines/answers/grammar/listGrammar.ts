import type { Expression } from "./expression.ts";
import type { Expressions } from "./expressions.ts";

/**
 * Comma-separated members in order, then others. Optional members may be omitted.
 * @param min total number of members
 */
export function listGrammar(
  grammar: Expressions,
  some: readonly { expression: Expression; isRequired: boolean }[],
  other: Expression,
  min = 0,
  max = Infinity,
): Expression {
  const comma = grammar.text(",");
  const known = new Map<string, Expression>();

  function from(index: number, minLeft: number, maxLeft: number, isFirst: boolean): Expression {
    // Drops bounds that hold anyway, so more states are shared.
    const [bound, limit] = [
      Math.max(0, minLeft),
      other === grammar.none && maxLeft >= some.length - index ? Infinity : maxLeft,
    ];
    const key = `${index},${bound},${limit},${isFirst}`;
    const found = known.get(key);
    if (found) return found;
    const made = make(index, bound, limit, isFirst);
    known.set(key, made);
    return made;
  }

  function make(index: number, minLeft: number, maxLeft: number, isFirst: boolean): Expression {
    if (maxLeft < 0) return grammar.none;
    const member = some[index];
    const next = grammar.sequence(comma, other);
    if (!member) {
      if (!isFirst) return grammar.repeat(next, minLeft, maxLeft);
      const one = grammar.sequence(
        other,
        grammar.repeat(next, Math.max(0, minLeft - 1), maxLeft - 1),
      );
      return grammar.either(
        minLeft === 0 ? grammar.empty : grammar.none,
        maxLeft > 0 ? one : grammar.none,
      );
    }
    const rest = from(index + 1, minLeft - 1, maxLeft - 1, false);
    const taken = grammar.sequence(...(isFirst ? [] : [comma]), member.expression, rest);
    return member.isRequired
      ? taken
      : grammar.either(taken, from(index + 1, minLeft, maxLeft, isFirst));
  }

  return from(0, min, max, true);
}
