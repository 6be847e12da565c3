import { jit, numpy as np, tree, valueAndGrad } from "@jax-js/jax";
import type { LoraConfig, ModelShape, TrainConfig } from "../../../protocol/trainConfig.ts";
import { causalAttention } from "../model/attention.ts";
import type { Batch } from "./batch.ts";
import { adaptedLinear } from "../model/lora.ts";
import { type Params, forward, lossOf, toParams } from "../model/model.ts";
import { type Moments, type StepScalars, adamw, stepScalars, zeroMoments } from "./optimizer.ts";
import type { Weights } from "../../llama/weights.ts";

/** A model in training. */
export interface Learner {
  /**
   * One step of gradient descent.
   * @param step counted from 1
   * @returns the loss before the step, in nats, and the gradient's norm before clipping
   */
  learn: (
    batch: Batch,
    step: number,
    learningRate: number,
  ) => Promise<{ loss: number; gradNorm: number }>;
  /** What is trained, as it is now. */
  weights: () => Promise<Weights>;
}

/** Sizes that are compiled into a step. */
export interface LearnerShape {
  shape: ModelShape;
  rows: number;
  /** Tokens a row. */
  length: number;
  lora: LoraConfig | null;
}

/**
 * @param trainable the model, or with LoRA the adapter
 * @param frozen with LoRA the base, otherwise empty
 */
export function createLearner(
  trainable: Weights,
  frozen: Weights,
  sizes: LearnerShape,
  options: Pick<TrainConfig, "weightDecay" | "maxGradNorm">,
): Learner {
  const lossAndGradient = valueAndGrad(createLoss(sizes));
  const base = toParams(frozen);
  let params = toParams(trainable);
  let moments = zeroMoments(params);

  // One graph for all of a step, so that no intermediate result is handed over.
  const compiled = jit(
    (params: Params, base: Params, moments: Moments, data: BatchArrays, scalars: StepScalars) => {
      const [loss, gradients] = lossAndGradient(tree.ref(params), base, data);
      const result = adamw(params, gradients, moments, scalars, options);
      tree.dispose([params, gradients, moments, scalars]);
      return { loss, ...result };
    },
  );

  async function learn(batch: Batch, step: number, learningRate: number) {
    const scalars = stepScalars(step, learningRate);
    const result = compiled(params, tree.ref(base), moments, toArrays(batch), scalars);
    params = result.params;
    moments = result.moments;
    // Waiting in every step keeps the queue of pending work, and with it the memory, flat.
    return { loss: await number(result.loss), gradNorm: await number(result.gradNorm) };
  }

  async function weights() {
    const tensors: Weights = {};
    for (const [name, array] of Object.entries(params)) {
      const data = (await array.ref.data()) as Float32Array<ArrayBuffer>;
      tensors[name] = { shape: array.shape, data };
    }
    return tensors;
  }

  return { learn, weights };
}

/** A batch's arrays, each [rows · length]. */
export type BatchArrays = { tokens: np.Array; targets: np.Array; learned: np.Array };

export function toArrays({ tokens, targets, learned }: Batch): BatchArrays {
  return { tokens: np.array(tokens), targets: np.array(targets), learned: np.array(learned) };
}

/** The loss as a function of what is trained; consumes its arguments. */
export function createLoss({ shape, rows, length, lora }: LearnerShape) {
  const attend = causalAttention(shape, rows, length);
  return (params: Params, base: Params, { tokens, targets, learned }: BatchArrays): np.Array => {
    const logits = lora
      ? forward(base, tokens, shape, attend, adaptedLinear(base, params, lora))
      : forward(params, tokens, shape, attend);
    tree.dispose([params, base]);
    return lossOf(logits, targets, learned);
  };
}

async function number(scalar: np.Array): Promise<number> {
  const [value] = (await scalar.data()) as Float32Array;
  return value ?? NaN;
}
