import { expect, test } from "vitest";
import { batchLimits } from "../../../../engines/embedded/step/batchLimits.ts";
import { bytesOf } from "../../../../engines/embedded/step/trainingPlan.ts";
import { createExamples } from "../../../../engines/examples/examples.ts";
import { dimensionsOf } from "../../../../engines/families/dimensions.ts";
import { VOCABULARY } from "../../../../engines/tokens/byteTokens.ts";

const NANO = dimensionsOf({ width: 64, layers: 2, heads: 4, context: 2048 });
const LARGE = dimensionsOf({ layers: 12, heads: 12, width: 768, context: 4096 });
const OPTIONS = { weightDecay: 0, maxGradNorm: 1 };

/** Rows of which so many tokens are read. */
function examplesOf(lengths: readonly number[]) {
  const examples = createExamples(VOCABULARY);
  for (const length of lengths) {
    const tokens = new Uint16Array(length + 1).fill(1);
    examples.addTruncated([[{ tokens, isLearned: true }]], Infinity);
  }
  return examples;
}

function limitsOf(lengths: number[], shape: typeof NANO, { rows = 8, count = 250 } = {}) {
  const sizes = { shape, lora: undefined, options: OPTIONS };
  const batches = { training: examplesOf(lengths), evaluation: undefined, rows, seed: 0, count };
  const limits = batchLimits(batches, sizes);
  return { limits, bytes: bytesOf({ ...sizes, limits }) };
}

const SHORT = Array.from({ length: 1000 }, (_, i) => 20 + (i % 20));

test("two long rows among a thousand short ones cost their own memory, not a batch of theirs", () => {
  const short = limitsOf(SHORT, NANO);
  const mixed = limitsOf([...SHORT, 1800, 1800], NANO);
  const long = limitsOf([1800, 1800], NANO, { count: 1 });
  expect(short.limits).toMatchObject({ longest: 39 });
  expect(short.limits.tokens).toBeLessThan(8 * 39);
  expect(mixed.limits.longest).toBe(1800);
  expect(mixed.limits.tokens).toBeLessThanOrEqual(2 * 1800 + 6 * 39);
  expect(mixed.bytes).toBeLessThan(long.bytes / 2);
});

test("batches that take much memory run in parts, of which each row is a whole one", () => {
  const rows = Array.from({ length: 64 }, () => 200);
  const { limits } = limitsOf(rows, LARGE, { rows: 32 });
  expect(limits.tokens).toBeGreaterThanOrEqual(256);
  expect(limits.tokens).toBeLessThan(32 * 200);
  expect(limitsOf([4000], LARGE, { rows: 4 }).limits.tokens).toBe(4000);
  // However many parts that takes.
  const huge = limitsOf([200], LARGE, { rows: 20_000, count: 1 });
  expect(huge.limits.tokens).toBeLessThan(1024);
});
