import type * as decoding from "../../../engines/embedded/infer/decoder.ts";
import type * as modules from "../../../engines/embedded/kernels/module.ts";
import type * as learning from "../../../engines/embedded/train/learner.ts";
import type * as planning from "../../../engines/embedded/train/trainingPlan.ts";
import type { Weights } from "../../../engines/llama/weights.ts";
import type { LoraConfig } from "../../../protocol/trainConfig.ts";
import { builtModule } from "./built.ts";
import { TINY } from "./tiny.ts";

const { createDecoder } = await builtModule<typeof decoding>("infer/decoder.js");
const { compileKernels } = await builtModule<typeof modules>("kernels/module.js");
const { createLearner } = await builtModule<typeof learning>("train/learner.js");
const { planTraining } = await builtModule<typeof planning>("train/trainingPlan.js");

const OPTIONS = { weightDecay: 0.01, maxGradNorm: 1 };

/** The tiny model in training on this thread alone; with `lora`, its adapter. */
export function learnerOf(
  weights: Weights,
  sizes: { rows: number; length: number; lora?: LoraConfig; adapter?: Weights },
): learning.Learner {
  const { rows, length, lora = null, adapter } = sizes;
  const plan = planTraining({ shape: TINY, rows, length, lora, threads: 1, options: OPTIONS });
  return createLearner(adapter ?? weights, adapter ? weights : {}, plan);
}

/** Starts reading with the tiny model. */
export function readingOf(weights: Weights): decoding.Reading {
  return createDecoder(compileKernels(), TINY, weights)();
}

/** The logits after each token, [token][vocabulary], read one by one. */
export function logitsOf(weights: Weights, tokens: ArrayLike<number>): number[][] {
  const { read } = readingOf(weights);
  return Array.from(tokens, (token) => [...read([token])]);
}
