import { expect, test } from "vitest";
import { partsOf, writeBatch } from "../../../../engines/embedded/model/batch.ts";
import { createFeed } from "../../../../engines/embedded/step/batch.ts";
import { createExamples } from "../../../../engines/examples/examples.ts";
import { SPECIALS, VOCABULARY } from "../../../../engines/tokens/byteTokens.ts";

/** The start, 1 to `count` times its index, and an end that is learned. */
function examplesOf(count: number) {
  const examples = createExamples(VOCABULARY);
  for (let i = 0; i < count; i++) {
    const read = [SPECIALS.bos, ...Array.from({ length: i + 1 }, () => i)];
    const spans = [
      { tokens: Uint16Array.from(read), isLearned: false },
      { tokens: Uint16Array.of(SPECIALS.eos), isLearned: true },
    ];
    examples.addStart(spans, Infinity);
  }
  return examples;
}

const EXAMPLES = examplesOf(7);

/** Which examples the first `count` batches hold, in order. */
function order(seed: number, count: number, rows: number): number[] {
  const feed = createFeed(EXAMPLES, rows, seed);
  return Array.from({ length: count }, feed).flatMap((batch) =>
    batch.map(({ tokens }) => tokens[1] ?? -1),
  );
}

test("every pass has each row once, in an order of its own that the seed decides", () => {
  const rows = order(1, 7, 2);
  const passes = [rows.slice(0, 7), rows.slice(7)];
  for (const pass of passes) expect(pass.toSorted()).toEqual([0, 1, 2, 3, 4, 5, 6]);
  expect(passes[0]).not.toEqual(passes[1]);
  expect(order(1, 7, 2)).toEqual(rows);
  expect(order(2, 7, 2)).not.toEqual(rows);
});

test("fewer rows than a batch holds are taken again", () => {
  expect(order(1, 1, 14).toSorted()).toEqual([0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]);
});

test("sequences follow one another without padding, and each learned token is a target once", () => {
  const batch = [3, 0, 1].map((index) => EXAMPLES.at(index));
  const words = (count: number) => new Int32Array(count).fill(-1);
  const arrays = {
    ...{ counts: words(3), tokens: words(10), positions: words(10), offsets: words(4) },
    ...{ squares: words(3), selected: words(3), targets: words(3) },
    ...{ lossWeights: new Float32Array(3), losses: new Float32Array(3) },
  };
  expect(writeBatch(arrays, batch, 0.5)).toBe(3);
  const { bos, eos } = SPECIALS;
  expect(arrays).toMatchObject({
    counts: Int32Array.of(8 + 2, 3, 3),
    offsets: Int32Array.of(0, 5, 7, 10),
    squares: Int32Array.of(0, 5 * 8, 5 * 8 + 2 * 4),
    selected: Int32Array.of(4, 6, 9),
    targets: Int32Array.of(eos, eos, eos),
    lossWeights: Float32Array.of(0.5, 0.5, 0.5),
  });
  expect([...arrays.tokens]).toEqual([bos, 3, 3, 3, 3, bos, 0, bos, 1, 1]);
  expect([...arrays.positions]).toEqual([0, 1, 2, 3, 4, 0, 1, 0, 1, 2]);
});

test("a batch splits into parts that fit, in its order", () => {
  const split = (lengths: number[], tokens: number, squares = Infinity) =>
    partsOf(lengths, (length) => length, { tokens, squares });
  expect(split([3, 4, 2, 9, 1], 9)).toEqual([[3, 4, 2], [9], [1]]);
  expect(split([4, 4, 8], 100, 64)).toEqual([[4, 4], [8]]);
  expect(split([], 9)).toEqual([]);
});
