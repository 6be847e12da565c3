import type { Expression } from "./expression.ts";
import type { Expressions } from "./expressions.ts";

/** An array's item. */
export interface Item {
  /** Its JSON if it must match `contains`. */
  match: Expression;
  /** Its JSON otherwise. */
  other: Expression;
}

/** How many items there may be, and how many of them may match. */
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
  const cache = new Map<string, Expression>();

  function itemsFrom(
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
    const compiled = cache.get(key) ?? make(index, left);
    cache.set(key, compiled);
    return compiled;
  }

  function make(index: number, left: Counts): Expression {
    const comma = index === 0 ? grammar.empty : grammar.text(",");
    const { match, other } = prefixItems[index] ?? rest;
    const isRest = index >= prefixItems.length;
    const end =
      isRest && left.minItems === 0 && left.minContains === 0 ? grammar.empty : grammar.none;
    const next = Math.min(index + 1, Math.max(1, prefixItems.length));
    const after = (isMatch: boolean) =>
      itemsFrom(next, {
        minItems: left.minItems - 1,
        maxItems: left.maxItems - 1,
        ...(isMatch
          ? { minContains: left.minContains - 1, maxContains: left.maxContains - 1 }
          : { minContains: left.minContains, maxContains: left.maxContains }),
      });
    const isEndless = isRest && index > 0 && left.minItems === 0 && left.maxItems === Infinity;
    const isUnlimited = left.minContains === 0 && left.maxContains === Infinity;
    const matching = () => grammar.sequence(comma, match, after(true));
    if (!isEndless)
      return grammar.either(end, matching(), grammar.sequence(comma, other, after(false)));
    const item = isUnlimited ? grammar.either(match, other) : other;
    return grammar.sequence(
      grammar.repeat(grammar.sequence(comma, item), 0, Infinity),
      isUnlimited ? grammar.empty : grammar.either(end, matching()),
    );
  }

  return itemsFrom(0, counts);
}
