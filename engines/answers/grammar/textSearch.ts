import type { Expression } from "./expression.ts";

/** Bytes from an end from which on a search no longer tells distances. */
const FAR = 4096;

/** Finds whether products have a text; what is found of one serves all that lead to it. */
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
    /** By the bytes that their parts still need. */
    const open: Expression[][] = [];
    let nearest = FAR;
    function add(one: Expression): void {
      const bytes = (one.operands ?? []).reduce((sum, { shortest }) => sum + shortest, 0);
      const rank = Math.min(bytes, FAR);
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
        // What was on the way to one that has a text has one, too.
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
