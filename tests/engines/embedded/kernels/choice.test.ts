import { expect, test } from "vitest";
import { GROUPS, SUMS, massesOf } from "../../../../engines/embedded/infer/masses.ts";
import { THREADS, difference, numbers, team } from "./team.ts";

/** What `likeliest` finds of rows of logits, on all thread counts. */
function found(rows: readonly Float32Array[], mask?: Float32Array) {
  const t = team();
  const vocabulary = rows[0]?.length ?? 0;
  const row = vocabulary + 5;
  const logits = t.floats(new Float32Array(rows.length * row));
  const allowed = t.floats(mask ?? new Float32Array(vocabulary));
  const out = t.floats(new Float32Array(2 * rows.length));
  const words = new Int32Array(t.memory.buffer, out.at, out.count);
  const results = THREADS.map((threads) => {
    rows.forEach((one, r) => logits.view.set(one, r * row));
    t.run(threads, [["likeliest", rows.length, vocabulary, row, logits.at, allowed.at, out.at]]);
    return [...words];
  });
  for (const result of results) expect(result).toEqual(results[0]);
  expect(t.broken()).toBe(0);
  const [words0 = []] = results;
  return rows.map((_, r) => ({ token: words0[2 * r], isTelling: words0[2 * r + 1] === 1 }));
}

test.each([1, 3, 4, 7, 65, 1000])(
  "the likeliest of %i tokens is the first of the greatest",
  (count) => {
    const rows = [1, 2, 3].map((seed) => numbers(count, seed));
    const tied = numbers(count, 4).map((value) => Math.round(value * 2));
    const all = [...rows, tied];
    expect(found(all).map(({ token }) => token)).toEqual(
      all.map((row) => row.indexOf(Math.max(...row))),
    );
  },
);

test("a token that is masked is never the likeliest, wherever it is", () => {
  for (const at of [0, 3, 4, 8]) {
    const row = Float32Array.from({ length: 9 }, (_, i) => (i === at ? 10 : i / 10));
    const mask = Float32Array.from({ length: 9 }, (_, i) => (i === at ? -Infinity : 0));
    const token = at === 8 ? 7 : 8;
    expect(found([row], mask)[0]).toEqual({ token, isTelling: true });
    // What is the same without the mask tells nothing with it, either.
    expect(found([new Float32Array(9)], mask)[0]?.isTelling).toBe(false);
  }
});

test.each([4, 7, 9])(
  "%i logits that are not finite, or all the same, tell nothing, wherever they are",
  (count) => {
    const at = [...Array(count).keys()];
    const telling = [
      numbers(count, 1),
      ...at.map((place) => Float32Array.from(at, (i) => (i === place ? 1 : 0))),
    ];
    const odd = [NaN, Infinity, -Infinity].flatMap((value) =>
      at.map((place) => numbers(count, 1).fill(value, place, place + 1)),
    );
    const all = found([...telling, new Float32Array(count).fill(2), ...odd]);
    expect(all.map(({ isTelling }) => isTelling)).toEqual([
      ...telling.map(() => true),
      ...[false, ...odd.map(() => false)],
    ]);
  },
);

test.each([1, 3, 4, 9, 500])("the masses of %i logits are their exponentials", (count) => {
  const t = team();
  const logits = numbers(count, 1).map((value) => value * 10);
  const highest = Math.max(...logits);
  for (const temperature of [0.3, 1, 5]) {
    const x = t.floats(logits);
    t.run(1, [["masses", count, x.at, temperature, t.floats(new Float32Array(2 * SUMS)).at]]);
    const expected = logits.map((logit) => Math.exp((logit - highest) / temperature));
    expect(difference(x.view, expected)).toBeLessThan(1e-5);
    expect(Math.max(...x.view)).toBe(1);
  }
  expect(t.broken()).toBe(0);
});

test.each([1, 3, 4, 9, 501])(
  "%i masses are summed and found by eighths of powers of two",
  (count) => {
    const t = team();
    const logits = numbers(count, 1).map((value) => value * 15);
    const x = t.floats(logits);
    const plan = {
      sums: t.floats(new Float32Array(2 * SUMS)).at,
      tokens: t.floats(new Float32Array(count)).at,
    };
    const { of, sums, tokensOf } = massesOf(t.kernels, plan, x.view, 1);
    for (let group = 0; group < GROUPS; group++) {
      const from = leastOf(group);
      const to = group === 0 ? Infinity : leastOf(group - 1);
      const tokens = [...of.keys()].filter((token) => of[token]! >= from && of[token]! < to);
      expect([...tokensOf(group)]).toEqual(tokens);
      const sum = tokens.reduce((sum, token) => sum + of[token]!, 0);
      expect(Math.abs(sums[group]! - sum)).toBeLessThanOrEqual(sum * 1e-12);
    }
    expect(t.broken()).toBe(0);
  },
);

/** The least mass of a group. */
function leastOf(group: number): number {
  const power = 2 ** -Math.ceil(group / 8);
  return power * (1 + ((8 - (group % 8)) % 8) / 8);
}
