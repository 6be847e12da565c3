import type { Moments } from "../../checkpoint/trainedState.ts";
import type { Example } from "../../examples/examples.ts";
import type { ReadWeights } from "../../families/storedWeights.ts";
import type { Weights } from "../../families/weights.ts";
import { allocate } from "../kernels/arena.ts";
import { type KernelModule, compileKernels } from "../kernels/module.ts";
import { lead } from "../kernels/team.ts";
import { batchArrays, partsOf, readLength, writeBatch } from "../model/batch.ts";
import { type TrainedArray, tensorsAt, writeTensors } from "../model/tensors.ts";
import type { TrainingPlan, TrainingSizes } from "./trainingPlan.ts";
import { OPERATION, trainingProgram } from "./trainingProgram.ts";

/** A model in training. */
export interface Learner {
  /**
   * The gradients of batches, added up: a step up to its update, which changes no weight.
   * @returns the loss in nats, the mean over the learned tokens of all batches, and the gradient's
   * norm before clipping
   */
  backpropagate: (batches: readonly Example[][]) => { loss: number; gradNorm: number };
  /** Changes the weights by the gradients that are there. @param step counted from 1 */
  update: (step: number, learningRate: number) => void;
  /** The sum of the learned tokens' losses, in nats, and how many they are; changes nothing. */
  measure: (batch: readonly Example[]) => { sum: number; count: number };
  /** The loss, and the gradients of what is trained by their names; changes nothing. */
  gradients: (batch: readonly Example[]) => { loss: number; gradients: Weights };
  /** The trained weights where they lie: the next update changes them. */
  weights: () => Weights;
  /** The optimizer's running means where they lie. */
  moments: () => Moments;
}

/** The input of a helper thread. */
export interface HelperInvitation {
  memory: WebAssembly.Memory;
  module: KernelModule;
  sizes: TrainingSizes;
}

export interface LearnerOptions {
  module?: KernelModule;
  /** Moments to continue with, in a resumed training. */
  moments?: Moments | undefined;
  /** Called once with the data helpers need; they may join at any time. */
  invite?: (seat: HelperInvitation) => void;
}

/**
 * @param trainable the model, or with LoRA the adapter
 * @param frozen with LoRA the base, otherwise nothing
 */
export function createLearner(
  trainable: Weights,
  frozen: ReadWeights,
  plan: TrainingPlan,
  { module = compileKernels(), moments, invite }: LearnerOptions = {},
): Learner {
  const { sizes } = plan;
  const { tensors, constants, batch, limits } = plan.model;
  const { trained } = tensors;
  const memory = allocate(plan.arena);
  writeTensors(memory, trained.weights, () => trainable);
  if (moments) writeTensors(memory, trained.firstMoments, () => moments.first);
  if (moments) writeTensors(memory, trained.secondMoments, () => moments.second);
  if (sizes.lora) writeTensors(memory, tensors.frozen, frozen);
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
    Object.entries(trainable).map(([name, { shape }]) => [name, shape]),
  );

  /**
   * Runs an operation on sequences, in parts where they are many.
   * @param weight what a learned token's loss counts
   * @param nextOperation of each part
   * @returns the sum of the losses
   */
  function runOn(
    sequences: readonly Example[],
    weight: number,
    nextOperation: () => number,
  ): number {
    let sum = 0;
    partsOf(sequences.filter(isLearned), readLength, limits).forEach((part) => {
      const count = writeBatch(arrays, part, weight);
      run(nextOperation());
      for (const loss of arrays.losses.subarray(0, count)) sum += loss;
    });
    return sum;
  }

  /** @returns the loss, the mean over the learned tokens of all batches */
  function addGradients(batches: readonly (readonly Example[])[]): number {
    const count = batches.reduce((sum, batch) => sum + learnedCount(batch), 0);
    // No gradient, and no mean.
    if (count === 0) return NaN;
    let isFirst = true;
    let sum = 0;
    for (const batch of batches) {
      sum += runOn(batch, 1 / count, () => {
        const operation = isFirst ? OPERATION.gradients : OPERATION.moreGradients;
        isFirst = false;
        return operation;
      });
    }
    return sum;
  }

  function backpropagate(batches: readonly Example[][]) {
    const loss = addGradients(batches);
    run(OPERATION.norm);
    return { loss, gradNorm: stepScalars[2] ?? NaN };
  }

  function update(step: number, learningRate: number) {
    stepScalars[0] = step;
    stepScalars[1] = learningRate;
    run(OPERATION.update);
  }

  function measure(sequences: readonly Example[]) {
    const sum = runOn(sequences, 1, () => OPERATION.loss);
    return { sum, count: learnedCount(sequences) };
  }

  function gradients(batch: readonly Example[]) {
    const loss = addGradients([batch]);
    const gradients = at("gradients");
    for (const tensor of Object.values(gradients)) tensor.data = tensor.data.slice();
    return { loss, gradients };
  }

  const at = (array: TrainedArray) => tensorsAt(memory, trained[array], shapes);
  return {
    ...{ backpropagate, update, measure, gradients },
    weights: () => at("weights"),
    moments: () => ({ first: at("firstMoments"), second: at("secondMoments") }),
  };
}

function learnedCount(sequences: readonly Example[]): number {
  return sequences.reduce(
    (sum, { learned }) => sum + learned.reduce((all, one) => all + one, 0),
    0,
  );
}

/** Whether any token is: a sequence without one gives no gradient. */
function isLearned({ learned }: Example): boolean {
  return learned.includes(1);
}
