import { expect, test } from "vitest";
import type { Dimensions } from "../../../../engines/families/dimensions.ts";
import { EMBEDDING, HEAD } from "../../../../engines/families/projections.ts";
import { randomAdapter } from "../../../../engines/lora/adapter.ts";
import { difference, numbers } from "../kernels/team.ts";
import { type Sizes, learnerOf } from "../learner.ts";
import { FAMILIES, TINY, tinyBatch, tinyWeights, UNTIED } from "../tiny.ts";

const [ROWS, LENGTH] = [2, 6];
const LORA = { r: 2, alpha: 4, targetModules: ["q_proj", "v_proj", "o_proj", "down_proj"] };

/** Batches of the same size with other tokens. */
function batchesOf(count: number, rows: number, length: number) {
  return Array.from({ length: count }, (_, i) => tinyBatch(rows, length, 3 + i));
}

const SHAPES: [string, Dimensions][] = [
  ["Kit's", TINY],
  ["Kit's with a head of its own", UNTIED],
  ...Object.entries(FAMILIES),
];

test.each(SHAPES)("a step's gradients are the mean of its batches': %s", (_, shape) => {
  const base = tinyWeights(1, shape);
  const adapter = randomAdapter(LORA, shape, 3);
  for (const { data } of Object.values(adapter)) data.set(numbers(data.length, 1));
  for (const lora of [undefined, LORA]) {
    const sizes: Sizes = {
      rows: ROWS,
      length: LENGTH,
      shape,
      ...(lora && { lora, adapter }),
    };
    const learner = learnerOf(base, sizes);
    const batches = batchesOf(3, ROWS, LENGTH);
    const alone = batches.map((batch) => learner.gradients(batch).gradients);
    const { gradNorm } = learner.backpropagate(batches);
    learner.update(1, 0);
    // The running means after one step are a tenth of the gradients as they were clipped.
    const clipped = 0.1 * Math.min(1, 1 / gradNorm);
    for (const [name, { data }] of Object.entries(learner.moments().first)) {
      const mean = Array.from(data, (_, i) =>
        alone.reduce((sum, of) => sum + (of[name]?.data[i] ?? NaN) / batches.length, 0),
      );
      const computed = data.map((value) => value / clipped);
      expect(difference(computed, mean), name).toBeLessThan(1e-5 * Math.max(...mean.map(Math.abs)));
    }
  }
});

/** The learned positions' logits, 80 of a row, are less than the most at a time; those of two are more. */
const LARGE = { ...UNTIED, layers: 1, vocabulary: 2 ** 17, context: 160 };

test("a head whose logits are computed in two parts gives the gradients of both", () => {
  const weights = tinyWeights(1, LARGE);
  const [rows, length] = [2, LARGE.context];
  const batch = tinyBatch(rows, length);
  const whole = learnerOf(weights, { rows, length, shape: LARGE }).gradients(batch);
  const single = learnerOf(weights, { rows: 1, length, shape: LARGE });
  const parts = batch.map((sequence) => single.gradients([sequence]));
  expect(whole.loss).toBeCloseTo(((parts[0]?.loss ?? NaN) + (parts[1]?.loss ?? NaN)) / 2, 5);
  for (const name of [HEAD, EMBEDDING]) {
    const of = ({ gradients }: (typeof parts)[number]) => gradients[name]!.data;
    const [first, second] = parts.map(of);
    const mean = of(whole).map((_, i) => ((first?.[i] ?? NaN) + (second?.[i] ?? NaN)) / 2);
    expect(difference(of(whole), mean), name).toBeLessThan(1e-7);
    expect(Math.max(...mean.subarray(0, 4096)), name).toBeGreaterThan(1e-4);
  }
});
