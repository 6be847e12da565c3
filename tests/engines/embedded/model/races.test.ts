import { expect, test } from "vitest";
import type { Learner } from "../../../../engines/embedded/step/learner.ts";
import type { LlamaShape } from "../../../../engines/llama/dimensions.ts";
import { learnerOf, learnerOnThreads } from "../learner.ts";
import { FAMILIES, tinyBatch, tinyTokens, tinyWeights } from "../tiny.ts";

/** Every part that a family may have, and enough layers for a missing meeting to show. */
const SHAPE: LlamaShape = {
  ...{ layers: 6, heads: 4, kvHeads: 2, size: 32, width: 8, hidden: 48, context: 48 },
  ...{ tied: false, biases: FAMILIES["Llama with biases"]?.biases ?? [], headNorms: true },
};
const [ROWS, LENGTH] = [3, 48];
const SIZES = { rows: ROWS, length: LENGTH, shape: SHAPE };
const RUNS = 100;

test.each([2, 3, 5])(
  "gradients are the same to the bit on one thread and on %i, however they take turns",
  async (threads) => {
    const weights = tinyWeights(1, SHAPE);
    const many = await learnerOnThreads(threads, weights, SIZES);
    // Two batches by turns, so that what the run before left behind is wrong.
    const batches = [1, 2].map((seed) => ({
      ...tinyBatch(ROWS, LENGTH),
      tokens: tinyTokens(ROWS * LENGTH, seed),
    }));
    const of = (learner: Learner, run: number) => {
      const { loss, gradients } = learner.gradients(batches[run % 2]!);
      const bytes = Object.values(gradients).map(({ data }) => Buffer.from(data.buffer));
      return { loss, bytes: Buffer.concat(bytes) };
    };
    const single = learnerOf(weights, SIZES);
    const wanted = [of(single, 0), of(single, 1)];
    for (let run = 0; run < RUNS; run++) {
      const { loss, bytes } = of(many, run);
      expect(loss, `run ${run}`).toBe(wanted[run % 2]?.loss);
      expect(bytes.equals(wanted[run % 2]!.bytes), `gradients of run ${run}`).toBe(true);
    }
  },
);
