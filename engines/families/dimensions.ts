import type { ModelShape } from "../../protocol/trainConfig.ts";
import constants from "../constants.json" with { type: "json" };
import { VOCABULARY } from "../tokens/byteTokens.ts";
import type { Projection } from "./projections.ts";

/** Rotary position embedding (RoPE): its base frequency and scaling. */
export type Rope =
  | { type: "default"; theta: number }
  | { type: "linear"; theta: number; factor: number }
  | {
      type: "llama3";
      theta: number;
      factor: number;
      lowFreqFactor: number;
      highFreqFactor: number;
      /** Context length before the scaling, in tokens. */
      originalContext: number;
    };

/** Layers with sliding-window attention. */
export interface SlidingLayers {
  /** Indices from 0. */
  layers: readonly number[];
  /** Positions a token attends to, including its own. */
  window: number;
  /** Base frequency of their RoPE. */
  theta: number;
}

/** A model's hyperparameters. */
export interface Dimensions extends ModelShape {
  /** Key and value heads; divides `heads`. */
  kvHeads: number;
  /** Size of a head, an even number. */
  headDim: number;
  /** Hidden size of the feed-forward network. */
  intermediateSize: number;
  vocabulary: number;
  /** Whether the head shares the embedding's weights; otherwise it is `lm_head.weight`. */
  tied: boolean;
  epsilon: number;
  rope: Rope;
  /** Projections with a bias, such as Qwen2's q, k and v. */
  biases: readonly Projection[];
  /** Attention divides its scores by this number's square root; usually `headDim`. */
  queryScalar: number;
  /** Undefined if all layers have full attention. */
  sliding: SlidingLayers | undefined;
  /** The `model_type` of its `config.json`. */
  family: string;
  /** Layers, from 0, without RoPE. */
  noRopeLayers: readonly number[];
}

/** Keeps RMSNorm from dividing by zero. */
const NORM_EPSILON = 1e-5;

/**
 * RoPE's base: the slowest pair rotates about once in the context. Llama's 10,000 hardly rotates most dimensions of a
 * small head in a short context, and learns more slowly.
 */
function ropeTheta(context: number): number {
  return Math.max(100, context / 2);
}

/** More than any model has; guards against listing the tensors of a hostile config. */
export const MAX_LAYERS = constants.maxLayers;

/** Hyperparameters of Kit's own model of a shape; those given in `shape` take precedence. */
export function dimensionsOf(shape: ModelShape & Partial<Dimensions>): Dimensions {
  const { heads, width, context } = shape;
  const { headDim = width / heads } = shape;
  return {
    kvHeads: heads,
    headDim,
    intermediateSize: feedForwardWidth(width),
    vocabulary: VOCABULARY,
    tied: true,
    epsilon: NORM_EPSILON,
    rope: { type: "default", theta: ropeTheta(context) },
    biases: [],
    queryScalar: headDim,
    sliding: undefined,
    family: "llama",
    noRopeLayers: [],
    ...shape,
  };
}

/** The feed-forward network's hidden size: Llama's 8/3 of the width, rounded up to a multiple of 16. */
export function feedForwardWidth(width: number): number {
  return Math.ceil((width * 8) / 3 / 16) * 16;
}
