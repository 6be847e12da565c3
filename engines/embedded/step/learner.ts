import type { Moments } from "../../checkpoint/trainedState.ts";
import type { ReadWeights } from "../../llama/storedWeights.ts";
import type { Weights } from "../../llama/weights.ts";
import { allocate } from "../kernels/arena.ts";
import { type KernelModule, compileKernels } from "../kernels/module.ts";
import { lead } from "../kernels/team.ts";
import { rotations } from "../model/rotations.ts";
import { type Places, tensorsAt, writeTensors } from "../model/weightPlan.ts";
import type { Batch } from "./batch.ts";
import type { TrainingPlan, TrainingSizes } from "./trainingPlan.ts";
import { OPERATION, trainingProgram } from "./trainingProgram.ts";

/** A model in training. */
export interface Learner {
  /**
   * The gradients of batches, added up: a step up to its update, which changes no weight.
   * @returns the loss in nats, the mean over the learned tokens of all batches, and the gradient's
   * norm before clipping
   */
  backpropagate: (batches: readonly Batch[]) => { loss: number; gradNorm: number };
  /** Changes the weights by the gradients that are there. @param step counted from 1 */
  update: (step: number, learningRate: number) => void;
  /** The sum of the learned tokens' losses, in nats, and how many they are; changes nothing. */
  measure: (batch: Batch) => { sum: number; count: number };
  /** The loss, and the gradients of what is trained by their names; changes nothing. */
  gradients: (batch: Batch) => { loss: number; gradients: Weights };
  /** The trained weights where they lie: the next update changes them. */
  weights: () => Weights;
  /** The optimizer's running means where they lie. */
  moments: () => Moments;
}

/** The input of a helper thread. */
export interface HelperSeat {
  memory: WebAssembly.Memory;
  module: KernelModule;
  sizes: TrainingSizes;
}

export interface LearnerOptions {
  module?: KernelModule;
  /** Moments to continue with, in a resumed training. */
  moments?: Moments | undefined;
  /** Called once with the data helpers need; they may join at any time. */
  invite?: (seat: HelperSeat) => void;
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
  const { model, sizes } = plan;
  const acts = model.activations;
  const memory = allocate(plan.arena);
  writeTensors(memory, plan.tensors, () => trainable);
  if (moments) writeTensors(memory, plan.moments.first, () => moments.first);
  if (moments) writeTensors(memory, plan.moments.second, () => moments.second);
  if (sizes.lora) writeTensors(memory, model.weights.tensors, frozen);
  const angles = rotations(model.dimensions, sizes.length);
  floats(acts.cosines, angles.cosines.length).set(angles.cosines);
  floats(acts.sines, angles.sines.length).set(angles.sines);

  const n = sizes.rows * sizes.length;
  const tokens = new Int32Array(memory.buffer, acts.tokens, n);
  const targets = new Int32Array(memory.buffer, acts.targets, n);
  const lossWeights = floats(acts.lossWeights, n);
  const losses = floats(acts.losses, n);
  const numbers = new Float64Array(memory.buffer, plan.numbers, 3);
  const run = lead(plan.team, module, memory, trainingProgram(plan));
  invite?.({ memory, module, sizes });
  // The weights themselves are not kept: they would take their memory twice.
  const shapes = Object.fromEntries(
    Object.entries(trainable).map(([name, { shape }]) => [name, shape]),
  );

  function floats(at: number, count: number): Float32Array {
    return new Float32Array(memory.buffer, at, count);
  }

  /** @param weight what a learned token's loss counts */
  function take({ learned, ...batch }: Batch, weight: number) {
    tokens.set(batch.tokens);
    targets.set(batch.targets);
    for (let i = 0; i < n; i++) lossWeights[i] = (learned[i] ?? 0) * weight;
  }

  function loss(): number {
    let sum = 0;
    for (const one of losses) sum += one;
    return sum;
  }

  function backpropagate(batches: readonly Batch[]) {
    const weight = 1 / batches.reduce((sum, batch) => sum + learnedCount(batch), 0);
    let sum = 0;
    batches.forEach((batch, i) => {
      take(batch, weight);
      run(i === 0 ? OPERATION.gradients : OPERATION.moreGradients);
      sum += loss();
    });
    run(OPERATION.norm);
    return { loss: sum, gradNorm: numbers[2] ?? NaN };
  }

  function update(step: number, learningRate: number) {
    numbers[0] = step;
    numbers[1] = learningRate;
    run(OPERATION.update);
  }

  function measure(batch: Batch) {
    take(batch, 1);
    run(OPERATION.loss);
    return { sum: loss(), count: learnedCount(batch) };
  }

  function gradients(batch: Batch) {
    take(batch, 1 / learnedCount(batch));
    run(OPERATION.gradients);
    const gradients = tensorsAt(memory, gradientTensors(), shapes);
    for (const tensor of Object.values(gradients)) tensor.data = tensor.data.slice();
    return { loss: loss(), gradients };
  }

  /** Gradients lie as the weights do, group by group. */
  function gradientTensors(): Places {
    return (model.gradients ?? model.adapterGradients).tensors;
  }

  const at = (tensors: Places) => tensorsAt(memory, tensors, shapes);
  return {
    ...{ backpropagate, update, measure, gradients },
    weights: () => at(plan.tensors),
    moments: () => ({ first: at(plan.moments.first), second: at(plan.moments.second) }),
  };
}

function learnedCount({ learned }: Batch): number {
  let count = 0;
  for (const one of learned) count += one;
  return count;
}
