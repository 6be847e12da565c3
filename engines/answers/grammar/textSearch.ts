import type { Expression } from "./expression.ts";

/** Distances above this many bytes count as equal. */
const MAX_RANK = 4096;

/** Searches a product automaton for a text that it accepts, by least remaining bytes first. Caches its results. */
export function createTextSearch({
  derivative,
  product,
}: {
  derivative: (inner: Expression, byte: number) => Expression;
  /** May be empty without being `none`. */
  product: (parts: readonly Expression[]) => Expression;
}): (from: Expression) => boolean {
  const isAlive = new Map<Expression, boolean>();

  return function hasText(from) {
    const before = new Map<Expression, Expression | undefined>([[from, undefined]]);
    /** By the number of bytes that their operands still need. */
    const open: Expression[][] = [];
    let nearest = MAX_RANK;
    function add(one: Expression): void {
      const bytes = (one.operands ?? []).reduce((sum, { shortest }) => sum + shortest, 0);
      const rank = Math.min(bytes, MAX_RANK);
      (open[rank] ??= []).push(one);
      nearest = Math.min(nearest, rank);
    }

    add(from);
    while (nearest < open.length) {
      const at = open[nearest]?.shift();
      if (!at) {
        nearest++;
        continue;
      }
      if (isAlive.get(at) === false) continue;
      if (!at.operands || at.isNullable || isAlive.get(at)) {
        // Everything on the path to an accepted text accepts one, too.
        for (let one: Expression | undefined = at; one; one = before.get(one))
          isAlive.set(one, true);
        return true;
      }
      for (const byte of at.classStarts()) {
        if (byte > 255) continue;
        const after = product(at.operands.map((part) => derivative(part, byte)));
        if (after.shortest === Infinity || before.has(after)) continue;
        before.set(after, at);
        add(after);
      }
    }
    for (const one of before.keys()) isAlive.set(one, false);
    return false;
  };
}
