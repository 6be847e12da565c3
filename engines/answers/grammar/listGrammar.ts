import type { Expression } from "./expression.ts";
import type { Expressions } from "./expressions.ts";

/**
 * Comma-separated members in order, then any number of `otherMember`. Members that aren't required may be omitted.
 * @param min minimum number of all members
 */
export function listGrammar(
  grammar: Expressions,
  members: readonly { expression: Expression; isRequired: boolean }[],
  otherMember: Expression,
  min = 0,
  max = Infinity,
): Expression {
  const comma = grammar.text(",");
  const cache = new Map<string, Expression>();

  function tail(index: number, minLeft: number, maxLeft: number, isFirst: boolean): Expression {
    // Drops bounds that hold anyway, so more states are shared.
    const [bound, limit] = [
      Math.max(0, minLeft),
      otherMember === grammar.none && maxLeft >= members.length - index ? Infinity : maxLeft,
    ];
    const key = `${index},${bound},${limit},${isFirst}`;
    const found = cache.get(key);
    if (found) return found;
    const made = make(index, bound, limit, isFirst);
    cache.set(key, made);
    return made;
  }

  function make(index: number, minLeft: number, maxLeft: number, isFirst: boolean): Expression {
    if (maxLeft < 0) return grammar.none;
    const member = members[index];
    const next = grammar.sequence(comma, otherMember);
    if (!member) {
      if (!isFirst) return grammar.repeat(next, minLeft, maxLeft);
      const atLeastOne = grammar.sequence(
        otherMember,
        grammar.repeat(next, Math.max(0, minLeft - 1), maxLeft - 1),
      );
      return grammar.either(
        minLeft === 0 ? grammar.empty : grammar.none,
        maxLeft > 0 ? atLeastOne : grammar.none,
      );
    }
    const rest = tail(index + 1, minLeft - 1, maxLeft - 1, false);
    const present = grammar.sequence(...(isFirst ? [] : [comma]), member.expression, rest);
    return member.isRequired
      ? present
      : grammar.either(present, tail(index + 1, minLeft, maxLeft, isFirst));
  }

  return tail(0, min, max, true);
}
