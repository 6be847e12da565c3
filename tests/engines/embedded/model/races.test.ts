import { expect, test } from "vitest";
import type * as arenas from "../../../../engines/embedded/kernels/arena.ts";
import type * as modules from "../../../../engines/embedded/kernels/module.ts";
import type * as batches from "../../../../engines/embedded/model/batch.ts";
import type * as modelPasses from "../../../../engines/embedded/model/passes.ts";
import type * as planning from "../../../../engines/embedded/step/trainingPlan.ts";
import { type Dimensions, dimensionsOf } from "../../../../engines/families/dimensions.ts";
import { builtModule } from "../built.ts";
import { type SequenceLearner, learnerOf, learnerOnThreads, limitsOf } from "../learner.ts";
import { FAMILIES, TINY, tinyBatch, tinySequences, tinyWeights } from "../tiny.ts";

const { allocate } = await builtModule<typeof arenas>("kernels/arena.js");
const { compileKernels, instantiate } = await builtModule<typeof modules>("kernels/module.js");
const { batchArrays, writeBatch } = await builtModule<typeof batches>("model/batch.js");
const { createPasses } = await builtModule<typeof modelPasses>("model/passes.js");
const { planTraining } = await builtModule<typeof planning>("step/trainingPlan.js");

// Where a barrier is missing, a thread that gets no more work is at the next operation while another
// is still at the one before. That shows now and then, so each case is repeated.

/** Every part that a family may have. */
const PARTS = { tied: false, biases: FAMILIES["Llama with biases"]?.biases ?? [], family: "qwen3" };
const SMALL = { width: 8, intermediateSize: 16, context: 48, ...PARTS };
/** One thread claims all positions at once, so that the others are soon at the next operation. */
const few = (headDim: number) => ({
  rows: 1,
  length: 16,
  shape: dimensionsOf({ layers: 4, heads: 6, kvHeads: 3, headDim, ...SMALL }),
});
/** A claim of attention takes longer than it takes a thread to wake up. */
const MANY: { rows: number; length: number; shape: Dimensions } = {
  rows: 3,
  length: 48,
  shape: dimensionsOf({ layers: 1, heads: 4, kvHeads: 2, headDim: 64, ...SMALL }),
};
/** Norms behind parts, centred ones, layers that see a window, and a scaled embedding. */
const asGemma = (sizes: typeof MANY): typeof MANY => ({
  ...sizes,
  shape: {
    ...sizes.shape,
    family: "gemma3_text",
    sliding: { layers: [0, 2], window: 5, theta: 100 },
  },
});
const THREADS = [2, 3, 5];

/** Runs two batches by turns, so that what the run before left behind is wrong. */
async function compare<T>(
  threads: number,
  { rows, length, shape }: typeof MANY,
  runs: number,
  resultOf: (learner: SequenceLearner, batch: ReturnType<typeof tinyBatch>) => T,
) {
  // Of one length, then of several.
  const lengths = Array.from({ length: rows }, (_, row) => Math.ceil(length / (1 + row)));
  const batches = [tinyBatch(rows, length), tinySequences(lengths, 2)];
  const weights = tinyWeights(1, shape);
  const sizes = { rows, length, shape };
  const single = learnerOf(weights, sizes);
  const wanted = batches.map((batch) => resultOf(single, batch));
  const many = await learnerOnThreads(threads, weights, sizes);
  for (let run = 0; run < runs; run++) {
    expect(resultOf(many, batches[run % 2]!), `run ${run}`).toEqual(wanted[run % 2]);
  }
}

test.each(THREADS)(
  "a loss is the same on one thread and on %i, however they take turns",
  async (threads) => {
    for (const sizes of [...[32, 128, 256].map(few), asGemma(few(64))])
      await compare(threads, sizes, 50, (learner, batch) => learner.measure(batch).sum);
  },
);

test.each(THREADS)(
  "gradients are the same on one thread and on %i, however they take turns",
  async (threads) => {
    for (const sizes of [MANY, asGemma(MANY)])
      await compare(threads, sizes, 100, (learner, batch) => {
        const { loss, gradients } = learner.gradients(batch);
        const bytes = Object.values(gradients).map(({ data }) => Buffer.from(data.buffer));
        return [loss, Buffer.concat(bytes).toString("base64")];
      });
  },
);

test("the head ends with the batch that it began with, although the next one may be there by then", () => {
  const [rows, length] = [2, 6];
  const options = { weightDecay: 0, maxGradNorm: 1 };
  const limits = limitsOf({ rows, length });
  const plan = planTraining({ shape: TINY, limits, lora: undefined, threads: 1, options });
  const memory = allocate(plan.arena);
  const kernels = instantiate(compileKernels(), memory);
  kernels.join(1, plan.team.control, plan.team.ownScratch[0]!);
  const { counts, ...arrays } = batchArrays(memory, plan.model.batch, plan.model.limits);
  writeBatch({ counts, ...arrays }, tinyBatch(rows, length));
  let parts = 0;
  const crossEntropy: typeof kernels.crossEntropy = (...sizes) => {
    kernels.crossEntropy(...sizes);
    parts++;
    // A helper that is slow to leave the barrier finds what the leader has written since.
    counts[2] = 1_000_000;
  };
  const watched = { ...kernels, crossEntropy };
  const thread = { kernels: watched, memory, threadIndex: 0, count: () => 1 };
  const { forward, head } = createPasses(thread, plan.model);
  forward();
  head.loss();
  expect(parts).toBe(1);
});
