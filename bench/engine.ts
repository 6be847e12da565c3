import { join } from "node:path";
import { MessageChannel, Worker } from "node:worker_threads";
import { createRandom } from "../engines/dataset/random.ts";
import type * as module from "../engines/embedded/kernels/module.ts";
import type { Simd } from "../engines/embedded/kernels/simd.ts";
import type * as attention from "../engines/embedded/ops/attention.ts";
import type { BatchLimits } from "../engines/embedded/ops/operation.ts";
import type * as limits from "../engines/embedded/step/batchLimits.ts";
import type * as learner from "../engines/embedded/step/learner.ts";
import type * as plan from "../engines/embedded/step/trainingPlan.ts";
import type { Example } from "../engines/examples/examples.ts";
import type { Dimensions } from "../engines/families/dimensions.ts";
import { resolveModel } from "../engines/families/modelSource.ts";
import { randomWeights } from "../engines/families/randomWeights.ts";
import { type TensorSource, inMemoryTensors } from "../engines/modelFiles/tensors.ts";
import type { Weights } from "../engines/modelFiles/weights.ts";
import { BYTES } from "../engines/tokens/byteTokens.ts";
import type { ModelShape } from "../protocol/trainConfig.ts";
import { ROOT, built } from "./paths.ts";

/** Sizes of a training run. */
export interface StepSizes {
  model: string | ModelShape;
  /** Rows per batch. */
  rows: number;
  /** Tokens per row. */
  length: number;
  threads?: number;
  simd?: Simd;
}

/** Sizes of a measurement. */
export interface EngineSizes extends StepSizes {
  /** Per run. */
  steps: number;
  runs: number;
}

const RATE = 1e-3;
const SEED = 1;
export const OPTIONS = { weightDecay: 0.01, maxGradNorm: 1 };

/** Built, because kernels lie beside it. */
const ENGINE = "engines/embedded";
export const { compileKernels, instantiate } = await built<typeof module>(
  `${ENGINE}/kernels/module.js`,
);
export const { createLearner } = await built<typeof learner>(`${ENGINE}/step/learner.js`);
const { scoreCount } = await built<typeof attention>(`${ENGINE}/ops/attention.js`);
export const { batchLimits } = await built<typeof limits>(`${ENGINE}/step/batchLimits.js`);
export const { planTraining } = await built<typeof plan>(`${ENGINE}/step/trainingPlan.js`);

export function shapeOf(model: string | ModelShape): Dimensions {
  const source = resolveModel(model);
  if (source.kind === "untrained") return source.dimensions;
  throw new Error("Only a model that starts from a shape is measured.");
}

/** Starts training a model from random weights, with its helper threads. */
export function startLearning({ model, rows, length, threads = 1, simd }: StepSizes) {
  const shape = shapeOf(model);
  const limits = limitsOf(rows, length);
  const training = planTraining({ shape, limits, lora: undefined, threads, options: OPTIONS });
  const learner = createTeam(training, randomWeights(shape, SEED), inMemoryTensors({}), simd);
  const batch = randomBatch(rows, length);
  let step = 0;
  return {
    learn: () => {
      backpropagate(learner, batch);
      learner.update(++step, RATE);
    },
  };
}

/** A learner with its helper threads. */
export function createTeam(
  plan: plan.TrainingPlan,
  trainable: Weights,
  frozen: TensorSource,
  simd?: Simd,
): learner.Learner {
  const initial = { trainable, frozen, moments: undefined };
  return createLearner(plan, initial, {
    module: compileKernels(simd),
    initWorkers(init) {
      for (let i = 1; i < plan.sizes.threads; i++) startHelper().postMessage(init);
    },
  });
}

/** Runs a step up to the update. @returns the mean loss of the learned tokens, in nats */
export function backpropagate(learner: learner.Learner, batch: readonly Example[]): number {
  let count = 0;
  for (const { learned } of batch.flatMap(({ sequences }) => sequences))
    for (const one of learned) count += one;
  const loss = learner.backpropagate(batch, 1 / count, false);
  learner.gradNorm();
  return loss;
}

/** @returns the port for the helper's initial data */
function startHelper() {
  const { port1, port2 } = new MessageChannel();
  const file = join(ROOT, "dist", ENGINE, "step", "helperWorker.js");
  const helper = new Worker(file, { execArgv: [] });
  helper.postMessage(port2, [port2]);
  helper.unref();
  return port1;
}

/** Limits of a batch of this many rows and tokens per row. */
export function limitsOf(rows: number, length: number): BatchLimits {
  const tokens = rows * length;
  return {
    tokens,
    selected: tokens,
    sequences: rows,
    longest: length,
    scores: rows * scoreCount(length),
  };
}

function randomBatch(rows: number, length: number): Example[] {
  const random = createRandom(SEED, "batch");
  return Array.from({ length: rows }, () => ({
    sequences: [
      {
        tokens: Uint16Array.from({ length: length + 1 }, () =>
          Math.floor(random.uniform() * BYTES),
        ),
        learned: new Uint8Array(length + 1).fill(1, 1),
      },
    ],
  }));
}
