import type { Moments } from "../../checkpoint/trainerState.ts";
import type { Example, Sequence } from "../../examples/examples.ts";
import type { Weights } from "../../modelFiles/weights.ts";
import type {
  Backend,
  InitialState,
  LogProbs,
  LogProbsOptions,
  Weigh,
} from "../../training/backend.ts";
import { allocate } from "../kernels/arena.ts";
import { type KernelModule, compileKernels, instantiate } from "../kernels/module.ts";
import { createQuantizedWriter } from "../kernels/quantized.ts";
import { lead } from "../kernels/team.ts";
import { batchArrays, partsOf, readLength, writeBatch } from "../model/batch.ts";
import { type TrainedArray, tensorsAt, writeTensors } from "../model/tensors.ts";
import type { TrainingPlan, TrainingSizes } from "./trainingPlan.ts";
import { OPERATION, gradientOperation, trainingProgram } from "./trainingProgram.ts";

/** A model in training. */
export interface Learner extends Backend {
  logProbs: (...parameters: Parameters<Backend["logProbs"]>) => LogProbs;
  backpropagate: (...parameters: Parameters<Backend["backpropagate"]>) => number;
  gradNorm: () => number;
  update: (step: number, learningRate: number) => void;
  weights: () => Weights;
  moments: () => Moments;
  /** The gradients that are there, where they lie. */
  gradients: () => Weights;
}

/** The input of a helper thread. */
export interface HelperInvitation {
  memory: WebAssembly.Memory;
  module: KernelModule;
  sizes: TrainingSizes;
}

export interface LearnerOptions {
  module?: KernelModule;
  /** Called once with the data helpers need; they may join at any time. */
  invite?: (invitation: HelperInvitation) => void;
}

export function createLearner(
  plan: TrainingPlan,
  { trained, frozen, moments }: InitialState,
  { module = compileKernels(), invite }: LearnerOptions = {},
): Learner {
  const { sizes } = plan;
  const { tensors, constants, batch, limits } = plan.model;
  const memory = allocate(plan.arena);
  writeTensors(memory, tensors.trained.weights, () => trained);
  if (moments) writeTensors(memory, tensors.trained.firstMoments, () => moments.first);
  if (moments) writeTensors(memory, tensors.trained.secondMoments, () => moments.second);
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
  invite?.({ memory, module, sizes });
  // The weights themselves are not kept: they would take their memory twice.
  const shapes = Object.fromEntries(
    Object.entries(trained).map(([name, { shape }]) => [name, shape]),
  );

  /** The sequences with something to learn, in parts that fit. An example is never split. */
  function partsIn(examples: readonly Example[]): Sequence[][] {
    const learned = examples.map(({ sequences }) => sequences.filter(isLearned));
    const some = learned.filter(({ length }) => length > 0);
    const parts = partsOf(some, (sequences) => sequences.map(readLength), limits);
    return parts.map((part) => part.flat());
  }

  /** Of all parts' learned tokens, one after another. */
  function lossesOf(parts: readonly Sequence[][], usesAdapter: boolean): number[] {
    return parts.flatMap((part) => {
      const count = writeBatch(arrays, part, usesAdapter);
      arrays.lossWeights.fill(1, 0, count);
      run(OPERATION.loss);
      return [...arrays.losses.subarray(0, count)];
    });
  }

  function logProbs(examples: readonly Example[], { usesAdapter }: LogProbsOptions) {
    return logProbsOf(examples, lossesOf(partsIn(examples), usesAdapter));
  }

  function backpropagate(
    examples: readonly Example[],
    weigh: number | Weigh,
    accumulate: boolean,
  ): number {
    const parts = partsIn(examples);
    if (typeof weigh === "number") {
      return addGradients(parts, accumulate, (count) => arrays.lossWeights.fill(weigh, 0, count));
    }
    const weights = weigh(logProbsOf(examples, lossesOf(parts, true))).flat();
    const all = weights.flatMap((of) => [...of]);
    // Of a single part, what the losses came of still lies there.
    const isForwardDone = parts.length === 1;
    const write = (count: number, from: number) =>
      arrays.lossWeights.set(all.slice(from, from + count));
    return addGradients(parts, accumulate, write, isForwardDone);
  }

  /**
   * @param writeWeights of so many learned tokens, from the so-manieth
   * @returns the sum of the losses, each times its weight
   */
  function addGradients(
    parts: readonly Sequence[][],
    accumulate: boolean,
    writeWeights: (count: number, from: number) => void,
    isForwardDone = false,
  ): number {
    if (parts.length === 0 && !accumulate) clearGradients();
    let [sum, from] = [0, 0];
    for (const [i, part] of parts.entries()) {
      const count = writeBatch(arrays, part);
      writeWeights(count, from);
      from += count;
      run(gradientOperation({ accumulate: accumulate || i > 0, isForwardDone }));
      for (const loss of arrays.losses.subarray(0, count)) sum += loss;
    }
    return sum;
  }

  function clearGradients(): void {
    for (const { data } of Object.values(at("gradients"))) data.fill(0);
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

  const at = (array: TrainedArray) => tensorsAt(memory, tensors.trained[array], shapes);
  return {
    ...{ logProbs, backpropagate, gradNorm, update, baseType: sizes.lora?.baseType },
    weights: () => at("weights"),
    moments: () => ({ first: at("firstMoments"), second: at("secondMoments") }),
    gradients: () => at("gradients"),
  };
}

/** Losses of the learned tokens, one after another, as the log probabilities of each sequence. */
function logProbsOf(examples: readonly Example[], losses: readonly number[]): LogProbs {
  let from = 0;
  return examples.map(({ sequences }) =>
    sequences.map(({ learned }) => {
      const count = learned.reduce((sum, one) => sum + one, 0);
      from += count;
      return Float32Array.from(losses.slice(from - count, from), (loss) => -loss);
    }),
  );
}

/** Whether any token is: a sequence without one gives no gradient. */
function isLearned({ learned }: Sequence): boolean {
  return learned.includes(1);
}
