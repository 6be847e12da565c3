import type { Expression } from "./expression.ts";
import type { Expressions } from "./expressions.ts";

/** An array item: the texts that match `contains`, and those that need not. */
export interface Item {
  match: Expression;
  other: Expression;
}

/** Limits of all items, and of matching ones. */
export interface Counts {
  minItems: number;
  maxItems: number;
  minContains: number;
  maxContains: number;
}

/** Comma-separated items with a limited number of matching ones: the prefix items, then others. */
export function containsGrammar(
  grammar: Expressions,
  { prefixItems, rest }: { prefixItems: readonly Item[]; rest: Item },
  counts: Counts,
): Expression {
  const known = new Map<string, Expression>();

  function from(
    index: number,
    { minItems, maxItems, minContains, maxContains }: Counts,
  ): Expression {
    if (maxItems < 0 || maxContains < 0) return grammar.none;
    const left = {
      minItems: Math.max(0, minItems),
      maxItems,
      minContains: Math.max(0, minContains),
      maxContains,
    };
    const key = `${index},${Object.values(left).join()}`;
    const found = known.get(key) ?? make(index, left);
    known.set(key, found);
    return found;
  }

  function make(index: number, left: Counts): Expression {
    const comma = index === 0 ? grammar.empty : grammar.text(",");
    const { match, other } = prefixItems[index] ?? rest;
    const isRest = index >= prefixItems.length;
    const end =
      isRest && left.minItems === 0 && left.minContains === 0 ? grammar.empty : grammar.none;
    const next = Math.min(index + 1, Math.max(1, prefixItems.length));
    const after = (isMatch: boolean) =>
      from(next, {
        minItems: left.minItems - 1,
        maxItems: left.maxItems - 1,
        ...(isMatch
          ? { minContains: left.minContains - 1, maxContains: left.maxContains - 1 }
          : { minContains: left.minContains, maxContains: left.maxContains }),
      });
    const isEndless = isRest && index > 0 && left.minItems === 0 && left.maxItems === Infinity;
    const isFree = left.minContains === 0 && left.maxContains === Infinity;
    const found = () => grammar.sequence(comma, match, after(true));
    if (!isEndless)
      return grammar.either(end, found(), grammar.sequence(comma, other, after(false)));
    const one = isFree ? grammar.either(match, other) : other;
    return grammar.sequence(
      grammar.repeat(grammar.sequence(comma, one), 0, Infinity),
      isFree ? grammar.empty : grammar.either(end, found()),
    );
  }

  return from(0, counts);
}
