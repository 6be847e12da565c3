import type { BaseType } from "../../protocol/trainConfig.ts";
import type { Moments } from "../checkpoint/trainerState.ts";
import constants from "../constants.json" with { type: "json" };
import type { Example } from "../examples/examples.ts";
import type { TensorSource } from "../modelFiles/tensors.ts";
import type { Weights } from "../modelFiles/weights.ts";
import type { TokenWeights } from "../objectives/objective.ts";
import type { Preparation } from "./preparation.ts";

export type Awaitable<T> = T | Promise<T>;

/** A result, or a function that waits for it and is called once. */
export type Late = number | (() => Promise<number>);

export async function numberOf(late: Late): Promise<number> {
  return typeof late === "number" ? late : late();
}

/**
 * Computes training steps. The loop awaits each call before the next, but a step's late results only once it has called
 * `update`, and then computes the next step meanwhile: a GPU needn't wait for the loop.
 */
export interface Backend {
  /** Log probabilities of the examples' learned tokens, in nats. */
  logProbs: (examples: readonly Example[], options: LogProbsOptions) => Awaitable<LogProbs>;
  /**
   * Computes the gradients of a loss: the weighted sum of each learned token's −log probability. The backend may split
   * the examples into micro-batches.
   * @param weigh weight of every learned token, or a function called for each micro-batch in turn
   * @param accumulate whether to add to the previous gradients
   * @returns the loss, in nats, if `weigh` is a number
   */
  backpropagate: (
    examples: readonly Example[],
    weigh: number | Weigh,
    accumulate: boolean,
  ) => Awaitable<Late>;
  /** The gradients' global L2 norm, before clipping. */
  gradNorm: () => Awaitable<Late>;
  /** Updates the weights. @param step counted from 1 */
  update: (step: number, learningRate: number) => Awaitable<void>;
  /** Replaces the trained weights with a copy of `weights`. */
  setWeights: (weights: Weights) => Awaitable<void>;
  /** The trained weights; the next update may change them in place. */
  weights: () => Awaitable<Weights>;
  /** The type that the frozen base was quantized to, if it was. */
  baseType?: BaseType | undefined;
  /** The optimizer's moments; the next update may change them in place. */
  moments: () => Awaitable<Moments>;
}

export interface LogProbsOptions {
  /** Whether to apply the adapter, if there is one. */
  usesAdapter: boolean;
}

/** [example][sequence][learned token] */
export type LogProbs = readonly (readonly Float32Array[])[];

/** Weights for a micro-batch. @param from index of its first example in the batch */
export type Weigh = (logProbs: LogProbs, from: number) => TokenWeights;

export interface InitialState {
  /** The model, or with LoRA the adapter. */
  trainable: Weights;
  /** With LoRA the base, otherwise empty. */
  frozen: TensorSource;
  /** The optimizer's moments; set when resuming. */
  moments: Moments | undefined;
}

/** A backend whose memory is planned and suffices. */
export interface PlannedBackend {
  /** Memory that training will need, without the dataset. */
  memoryBytes: number;
  /** Set if that is a GPU's own memory, which has room. */
  onGpu?: true | undefined;
  start: (initial: InitialState) => Awaitable<Backend>;
}

/**
 * Plans a training run's memory, before any weight is read.
 * @throws KitError `OUT_OF_MEMORY`
 */
export type PlanBackend = (preparation: Preparation) => Awaitable<PlannedBackend>;

/** The note of a plan that quantized the base itself. */
export const BASE_QUANTIZED =
  'the base does not fit in memory as it was saved; lora.baseType is "q8_0"';

/** AdamW's hyperparameters, the same on every backend. */
export const ADAMW = {
  beta1: 0.9,
  /** Below the usual 0.999, which averages over 1,000 steps, more than most runs here have. */
  beta2: constants.adamBeta2,
  epsilon: 1e-8,
} as const;

/** Added to the norm before dividing, as in `torch.nn.utils.clip_grad_norm_`. */
export const CLIP_EPSILON = 1e-6;

/** The factor that clips gradients to a maximum norm. @param norm their current norm */
export function clipScale(norm: number, maxGradNorm: number): number {
  return Math.min(1, maxGradNorm / (norm + CLIP_EPSILON));
}
