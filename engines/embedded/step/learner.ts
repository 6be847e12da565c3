import type { Moments } from "../../checkpoint/trainerState.ts";
import type { Example } from "../../examples/examples.ts";
import { inMemoryTensors } from "../../modelFiles/tensors.ts";
import type { Weights } from "../../modelFiles/weights.ts";
import type {
  Backend,
  InitialState,
  LogProbs,
  LogProbsOptions,
  Weigh,
} from "../../training/backend.ts";
import {
  inputLength,
  learnedSequences,
  logProbsOf,
  microBatchesOf,
} from "../../training/microBatches.ts";
import { allocate } from "../kernels/arena.ts";
import { type KernelModule, compileKernels, instantiate } from "../kernels/module.ts";
import { createQuantizedWriter } from "../kernels/quantized.ts";
import { lead } from "../kernels/team.ts";
import { batchArrays, writeBatch } from "../model/batch.ts";
import { type TrainedArray, tensorsAt, writeTensors } from "../model/tensors.ts";
import { microBatchLimits } from "./batchLimits.ts";
import type { TrainingPlan, TrainingSizes } from "./trainingPlan.ts";
import { OPERATION, gradientOperation, trainingProgram } from "./trainingProgram.ts";

/** The embedded engine's backend. */
export interface Learner extends Backend {
  logProbs: (...parameters: Parameters<Backend["logProbs"]>) => LogProbs;
  backpropagate: (...parameters: Parameters<Backend["backpropagate"]>) => number;
  gradNorm: () => number;
  update: (step: number, learningRate: number) => void;
  setWeights: (weights: Weights) => void;
  weights: () => Weights;
  moments: () => Moments;
  /** Views of the current gradients. */
  gradients: () => Weights;
}

/** Initial data of a helper thread. */
export interface TrainingWorkerInit {
  memory: WebAssembly.Memory;
  module: KernelModule;
  sizes: TrainingSizes;
}

export interface LearnerOptions {
  module?: KernelModule;
  /** Called once with the helpers' initial data; they may join at any time. */
  initWorkers?: (init: TrainingWorkerInit) => void;
}

export function createLearner(
  plan: TrainingPlan,
  { trainable, frozen, moments }: InitialState,
  { module = compileKernels(), initWorkers }: LearnerOptions = {},
): Learner {
  const { sizes } = plan;
  const { tensors, constants, batch, limits } = plan.model;
  const memory = allocate(plan.arena);
  writeTensors(memory, tensors.trained.weights, inMemoryTensors(trainable));
  if (moments) writeTensors(memory, tensors.trained.firstMoments, inMemoryTensors(moments.first));
  if (moments) writeTensors(memory, tensors.trained.secondMoments, inMemoryTensors(moments.second));
  if (sizes.lora) {
    const kernels = instantiate(module, memory);
    writeTensors(memory, tensors.frozen, frozen, (matrix, row) =>
      createQuantizedWriter(kernels, memory, matrix, plan.staging, row),
    );
  }
  for (const { at, values } of constants) {
    const numbers = values();
    new Float32Array(memory.buffer, at, numbers.length).set(numbers);
  }
  const arrays = batchArrays(memory, batch, limits);
  const stepScalars = new Float64Array(memory.buffer, plan.stepScalars, 3);
  const run = lead(plan.team, module, memory, trainingProgram(plan));
  initWorkers?.({ memory, module, sizes });
  // Keeps shapes only, because the weights are already in the shared memory.
  const shapes = Object.fromEntries(
    Object.entries(trainable).map(([name, { shape }]) => [name, shape]),
  );

  /** Splits examples into micro-batches that fit. An example is never split. */
  function microBatchesIn(examples: readonly Example[]): Example[][] {
    const lengthsOf = (example: Example) => learnedSequences(example).map(inputLength);
    return microBatchesOf(examples, lengthsOf, microBatchLimits(limits));
  }

  /** @returns the number of learned tokens */
  function write(microBatch: readonly Example[], usesAdapter = true): number {
    return writeBatch(arrays, microBatch.flatMap(learnedSequences), usesAdapter);
  }

  /** Computes log probabilities, and leaves the activations in memory for the backward pass. */
  function logProbsIn(microBatch: readonly Example[], usesAdapter: boolean): LogProbs {
    const count = write(microBatch, usesAdapter);
    arrays.lossWeights.fill(1, 0, count);
    if (count > 0) run(OPERATION.loss);
    return logProbsOf(microBatch, arrays.losses.slice(0, count));
  }

  function logProbs(examples: readonly Example[], { usesAdapter }: LogProbsOptions): LogProbs {
    return microBatchesIn(examples).flatMap((microBatch) => logProbsIn(microBatch, usesAdapter));
  }

  function backpropagate(
    examples: readonly Example[],
    weigh: number | Weigh,
    accumulate: boolean,
  ): number {
    let [sum, from, isAccumulating] = [0, 0, accumulate];
    for (const microBatch of microBatchesIn(examples)) {
      const isForwardDone = typeof weigh !== "number";
      let count = 0;
      if (isForwardDone) {
        const weights = weigh(logProbsIn(microBatch, true), from).flat();
        for (const tokenWeights of weights) {
          arrays.lossWeights.set(tokenWeights, count);
          count += tokenWeights.length;
        }
      } else {
        count = write(microBatch);
        arrays.lossWeights.fill(weigh, 0, count);
      }
      from += microBatch.length;
      if (count === 0) continue;
      run(gradientOperation({ accumulate: isAccumulating, isForwardDone }));
      isAccumulating = true;
      for (const loss of arrays.losses.subarray(0, count)) sum += loss;
    }
    if (!isAccumulating) clearGradients();
    return sum;
  }

  function clearGradients(): void {
    for (const { data } of Object.values(viewsOf("gradients"))) data.fill(0);
  }

  function gradNorm() {
    run(OPERATION.norm);
    return stepScalars[2] ?? NaN;
  }

  function update(step: number, learningRate: number) {
    stepScalars[0] = step;
    stepScalars[1] = learningRate;
    run(OPERATION.update);
  }

  const viewsOf = (array: TrainedArray) => tensorsAt(memory, tensors.trained[array], shapes);
  return {
    logProbs,
    backpropagate,
    gradNorm,
    update,
    baseType: sizes.lora?.baseType,
    setWeights: (weights) =>
      writeTensors(memory, tensors.trained.weights, inMemoryTensors(weights)),
    weights: () => viewsOf("weights"),
    moments: () => ({ first: viewsOf("firstMoments"), second: viewsOf("secondMoments") }),
    gradients: () => viewsOf("gradients"),
  };
}
