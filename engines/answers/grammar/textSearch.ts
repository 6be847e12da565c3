import type { Expression } from "./expression.ts";

/** Larger numbers of remaining bytes count as equal. */
const MAX_RANK = 4096;

/** Searches a product automaton for a text that it accepts, by least remaining bytes first. Caches its results. */
export function createTextSearch({
  derivative,
  product,
}: {
  derivative: (inner: Expression, byte: number) => Expression;
  /** An intersection that may be empty without being `none`. */
  product: (parts: readonly Expression[]) => Expression;
}): (from: Expression) => boolean {
  const isAlive = new Map<Expression, boolean>();

  return function hasText(from) {
    const predecessors = new Map<Expression, Expression | undefined>([[from, undefined]]);
    /** States by the least number of bytes that all their operands together still need. */
    const queue: Expression[][] = [];
    let nearest = MAX_RANK;
    function add(state: Expression): void {
      const bytes = (state.operands ?? []).reduce((sum, { minBytes }) => sum + minBytes, 0);
      const rank = Math.min(bytes, MAX_RANK);
      (queue[rank] ??= []).push(state);
      nearest = Math.min(nearest, rank);
    }

    add(from);
    while (nearest < queue.length) {
      const state = queue[nearest]?.shift();
      if (!state) {
        nearest++;
        continue;
      }
      if (isAlive.get(state) === false) continue;
      if (!state.operands || state.isNullable || isAlive.get(state)) {
        // Everything on the path to an accepted text accepts one, too.
        for (let live: Expression | undefined = state; live; live = predecessors.get(live))
          isAlive.set(live, true);
        return true;
      }
      for (const byte of state.classStarts()) {
        if (byte > 255) continue;
        const after = product(state.operands.map((part) => derivative(part, byte)));
        if (after.minBytes === Infinity || predecessors.has(after)) continue;
        predecessors.set(after, state);
        add(after);
      }
    }
    for (const searched of predecessors.keys()) isAlive.set(searched, false);
    return false;
  };
}
