import type { BaseType } from "../../protocol/trainConfig.ts";
import type { Moments } from "../checkpoint/trainerState.ts";
import constants from "../constants.json" with { type: "json" };
import type { Example } from "../examples/examples.ts";
import type { TensorSource } from "../modelFiles/tensors.ts";
import type { Weights } from "../modelFiles/weights.ts";
import type { TokenWeights } from "../objectives/objective.ts";
import type { Preparation } from "./preparation.ts";

/** At once, or later. */
export type Awaitable<T> = T | Promise<T>;

/** What computes a training's steps. The loop awaits each call before the next. */
export interface Backend {
  /** The log probabilities of examples' learned tokens, in nats; changes nothing. */
  logProbs: (examples: readonly Example[], options: LogProbsOptions) => Awaitable<LogProbs>;
  /**
   * The gradients of a micro-batch: of the sum of each learned token's −log probability times what it
   * counts. The examples may be computed in parts, each whole.
   * @param weigh what each learned token counts, or a function that is asked for each part in turn
   * @param accumulate whether to add to the gradients that are there
   * @returns that sum, in nats
   */
  backpropagate: (
    examples: readonly Example[],
    weigh: number | Weigh,
    accumulate: boolean,
  ) => Awaitable<number>;
  /** The gradients' global L2 norm, before they are clipped. */
  gradNorm: () => Awaitable<number>;
  /** Changes the weights by the gradients that are there. @param step counted from 1 */
  update: (step: number, learningRate: number) => Awaitable<void>;
  /** Goes on from other weights than those it began with, of which it keeps a copy. */
  setWeights: (weights: Weights) => Awaitable<void>;
  /** What is trained; the next update may change it where it lies. */
  weights: () => Awaitable<Weights>;
  /** The type that the frozen base was converted to, if any. */
  baseType?: BaseType | undefined;
  /** The optimizer's running means, likewise. */
  moments: () => Awaitable<Moments>;
}

export interface LogProbsOptions {
  /** Whether the adapter takes part, if there is one. */
  usesAdapter: boolean;
}

/** [example][sequence][learned token] */
export type LogProbs = readonly (readonly Float32Array[])[];

/** Of the examples of a part, the first of them the batch's `from`th. */
export type Weigh = (logProbs: LogProbs, from: number) => TokenWeights;

/** What a backend starts with. */
export interface InitialState {
  /** The model, or with LoRA the adapter. */
  trained: Weights;
  /** With LoRA the base, otherwise nothing. */
  frozen: TensorSource;
  /** Of a training that is resumed. */
  moments: Moments | undefined;
}

/**
 * Plans the memory of a training, before any weight is read.
 * @throws KitError `OUT_OF_MEMORY`
 */
export type PlanBackend = (
  preparation: Preparation,
) => (initial: InitialState) => Awaitable<Backend>;

/** AdamW's settings, the same on every backend. */
export const ADAMW = {
  beta1: 0.9,
  /** Below the usual 0.999, whose memory of 1,000 steps is longer than most runs here. */
  beta2: constants.adamBeta2,
  epsilon: 1e-8,
} as const;

/** Added to the norm before the division, as `torch.nn.utils.clip_grad_norm_` does. */
const CLIP_EPSILON = 1e-6;

/** What gradients are multiplied by, so that their norm is at most so much. @param norm as it is */
export function clipScale(norm: number, maxGradNorm: number): number {
  return Math.min(1, maxGradNorm / (norm + CLIP_EPSILON));
}
