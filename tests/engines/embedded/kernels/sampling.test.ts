import { expect, test } from "vitest";
import { BUCKETS } from "../../../../engines/answers/reader.ts";
import { SUMS, probabilitiesOf } from "../../../../engines/embedded/infer/probabilities.ts";
import { THREADS, difference, numbers, team } from "./team.ts";

/** Bits of the tokens that may be chosen, as words of 32. */
function bitsOf(count: number, may: (token: number) => boolean = () => true): Float32Array {
  const words = new Int32Array(Math.ceil(count / 32));
  for (let i = 0; i < count; i++) if (may(i)) words[i >> 5]! |= 1 << (i & 31);
  return new Float32Array(words.buffer);
}

/** What `likeliest` finds of rows of logits, on all thread counts. @param may says it of each row */
function found(
  rows: readonly Float32Array[],
  may: (row: number, token: number) => boolean = () => true,
) {
  const t = team();
  const vocabulary = rows[0]?.length ?? 0;
  const row = vocabulary + 5;
  const logits = t.floats(new Float32Array(rows.length * row));
  const bits = rows.map((_, r) => t.floats(bitsOf(vocabulary, (token) => may(r, token))).at);
  const allowed = t.floats(new Float32Array(Uint32Array.from(bits).buffer));
  const out = t.floats(new Float32Array(2 * rows.length));
  const words = new Int32Array(t.memory.buffer, out.at, out.count);
  const results = THREADS.map((threads) => {
    rows.forEach((one, r) => logits.view.set(one, r * row));
    t.run(threads, [["argmax", rows.length, vocabulary, row, logits.at, allowed.at, out.at]]);
    rows.forEach((one, r) => expect(logits.view.slice(r * row, r * row + vocabulary)).toEqual(one));
    return [...words];
  });
  for (const result of results) expect(result).toEqual(results[0]);
  expect(t.broken()).toBe(0);
  const [words0 = []] = results;
  return rows.map((_, r) => ({ token: words0[2 * r], isDegenerate: words0[2 * r + 1] === 1 }));
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

test.each([9, 31, 32, 33, 70])(
  "of %i tokens, one that may not be chosen is never the likeliest, wherever it is",
  (count) => {
    const at = [...Array(count).keys()];
    const rows = at.map((place) =>
      Float32Array.from(at, (i) => (i === place ? 1000 : Math.floor(i / 2))),
    );
    // Of equal ones, the first that may.
    const wanted = at.map((place) => {
      const others = at.filter((i) => i !== place).map((i) => Math.floor(i / 2));
      const highest = Math.max(...others);
      return at.find((i) => i !== place && Math.floor(i / 2) === highest);
    });
    expect(found(rows, (row, token) => token !== row).map(({ token }) => token)).toEqual(wanted);
  },
);

test("each row has tokens of its own that may be chosen; −1 is found where none may", () => {
  const rows = [1, 2, 3, 4].map((seed) => numbers(100, seed));
  const may = (row: number, token: number) => row < 3 && token % (row + 2) === 1;
  const wanted = rows.map((row, r) => {
    const own = [...row].map((logit, token) => (may(r, token) ? logit : -Infinity));
    return r === 3 ? -1 : own.indexOf(Math.max(...own));
  });
  expect(found(rows, may).map(({ token }) => token)).toEqual(wanted);
});

test.each([4, 7, 9])("%i logits are degenerate if any is not finite, or all are equal", (count) => {
  const at = [...Array(count).keys()];
  const informative = [
    numbers(count, 1),
    ...at.map((place) => Float32Array.from(at, (i) => (i === place ? 1 : 0))),
  ];
  const odd = [NaN, Infinity, -Infinity].flatMap((value) =>
    at.map((place) => numbers(count, 1).fill(value, place, place + 1)),
  );
  const all = found([...informative, new Float32Array(count).fill(2), ...odd]);
  expect(all.map(({ isDegenerate }) => isDegenerate)).toEqual([
    ...informative.map(() => false),
    true,
    ...odd.map(() => true),
  ]);
});

test.each([1, 3, 4, 9, 33, 500])(
  "the weights of %i logits are their exponentials, and 0 where a token may not be chosen",
  (count) => {
    const t = team();
    const logits = numbers(count, 1).map((value) => value * 10);
    const sums = t.floats(new Float32Array(2 * SUMS)).at;
    for (const may of [() => true, (token: number) => token % 3 === 0]) {
      const bits = t.floats(bitsOf(count, may));
      const own = [...logits].map((logit, token) => (may(token) ? logit : -Infinity));
      const highest = Math.max(...own);
      for (const temperature of [0.3, 1, 5]) {
        const x = t.floats(logits);
        t.run(1, [["expLogits", count, x.at, temperature, bits.at, sums]]);
        const expected = own.map((logit) => Math.exp((logit - highest) / temperature));
        expect(difference(x.view, expected)).toBeLessThan(1e-5);
        expect(Math.max(...x.view)).toBe(1);
      }
    }
    expect(t.broken()).toBe(0);
  },
);

test.each([1, 3, 4, 9, 501])(
  "%i weights are summed and found by eighths of powers of two",
  (count) => {
    const t = team();
    const logits = numbers(count, 1).map((value) => value * 15);
    const x = t.floats(logits);
    const plan = {
      sums: t.floats(new Float32Array(2 * SUMS)).at,
      tokens: t.floats(new Float32Array(count)).at,
    };
    const { byToken, sums, tokensOf } = probabilitiesOf(t.kernels, plan, x.view, {
      temperature: 1,
      bits: t.floats(bitsOf(count, () => true)).at,
    });
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      const from = leastOf(bucket);
      const to = bucket === 0 ? Infinity : leastOf(bucket - 1);
      const tokens = [...byToken.keys()].filter(
        (token) => byToken[token]! >= from && byToken[token]! < to,
      );
      expect([...tokensOf(bucket)]).toEqual(tokens);
      const sum = tokens.reduce((sum, token) => sum + byToken[token]!, 0);
      expect(Math.abs(sums[bucket]! - sum)).toBeLessThanOrEqual(sum * 1e-12);
    }
    expect(t.broken()).toBe(0);
  },
);

/** The least mass of a bucket. */
function leastOf(bucket: number): number {
  const power = 2 ** -Math.ceil(bucket / 8);
  return power * (1 + ((8 - (bucket % 8)) % 8) / 8);
}
