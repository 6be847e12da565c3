import { expect, test } from "vitest";
import { writeBatch } from "../../../../engines/embedded/model/batch.ts";
import { microBatchLimits } from "../../../../engines/embedded/step/batchLimits.ts";
import { createExamples } from "../../../../engines/examples/examples.ts";
import { SPECIALS, VOCABULARY } from "../../../../engines/tokens/byteTokens.ts";
import { microBatchesOf } from "../../../../engines/training/microBatches.ts";

/** The start, 1 to `count` times its index, and an end that is learned. */
function examplesOf(count: number) {
  const examples = createExamples(VOCABULARY);
  for (let i = 0; i < count; i++) {
    const read = [SPECIALS.bos, ...Array.from({ length: i + 1 }, () => i)];
    const spans = [
      { tokens: Uint16Array.from(read), isLearned: false },
      { tokens: Uint16Array.of(SPECIALS.eos), isLearned: true },
    ];
    examples.addTruncated([spans], Infinity);
  }
  return examples;
}

const EXAMPLES = examplesOf(7);

test("sequences follow one another without padding, and each learned token is a target once", () => {
  const batch = [3, 0, 1].flatMap((index) => EXAMPLES.at(index).sequences);
  const words = (count: number) => new Int32Array(count).fill(-1);
  const arrays = {
    counts: words(4),
    tokens: words(10),
    positions: words(10),
    offsets: words(4),
    scoreOffsets: words(3),
    selected: words(3),
    targets: words(3),
    lossWeights: new Float32Array(3),
    losses: new Float32Array(3),
  };
  expect(writeBatch(arrays, batch)).toBe(3);
  const { bos, eos } = SPECIALS;
  expect(arrays).toMatchObject({
    counts: Int32Array.of(8 + 2, 3, 3, 1),
    offsets: Int32Array.of(0, 5, 7, 10),
    scoreOffsets: Int32Array.of(0, 5 * 8, 5 * 8 + 2 * 4),
    selected: Int32Array.of(4, 6, 9),
    targets: Int32Array.of(eos, eos, eos),
  });
  expect([...arrays.tokens]).toEqual([bos, 3, 3, 3, 3, bos, 0, bos, 1, 1]);
  expect([...arrays.positions]).toEqual([0, 1, 2, 3, 4, 0, 1, 0, 1, 2]);
});

test("a batch splits into parts that fit, in its order, and no group of sequences is split", () => {
  const split = (groups: number[][], tokens: number, scores = Infinity) =>
    microBatchesOf(groups, (lengths) => lengths, microBatchLimits({ tokens, scores }));
  expect(split([[3], [4], [2], [9], [1]], 9)).toEqual([[[3], [4], [2]], [[9]], [[1]]]);
  expect(split([[4], [4], [8]], 100, 64)).toEqual([[[4], [4]], [[8]]]);
  expect(split([[3, 4], [2, 5], [1]], 9)).toEqual([[[3, 4]], [[2, 5], [1]]]);
  expect(split([], 9)).toEqual([]);
});
