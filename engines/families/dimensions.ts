import type { ModelShape } from "../../protocol/trainConfig.ts";
import constants from "../constants.json" with { type: "json" };
import { VOCABULARY } from "../tokens/byteTokens.ts";
import type { Projection } from "./projections.ts";

/** How fast each pair of a head's dimensions turns from one position to the next. */
export type Rope =
  | { type: "default"; theta: number }
  | { type: "linear"; theta: number; factor: number }
  | {
      type: "llama3";
      theta: number;
      factor: number;
      lowFreqFactor: number;
      highFreqFactor: number;
      /** Context that the model was first trained with, in tokens. */
      originalContext: number;
    };

/** Layers that see only the last positions. */
export interface SlidingLayers {
  /** From 0. */
  layers: readonly number[];
  /** Positions that a token sees, its own among them. */
  window: number;
  /** Of their rope, in place of the model's. */
  theta: number;
}

/** Sizes of a model, and what else gives its weights their meaning. */
export interface Dimensions extends ModelShape {
  /** Heads of keys and values; divides `heads`. */
  kvHeads: number;
  /** Size of a head, an even number. */
  headDim: number;
  /** Hidden size of the feed-forward. */
  intermediateSize: number;
  vocabulary: number;
  /** Whether the head is the embedding; if not, it is a matrix of its own, `lm_head.weight`. */
  tied: boolean;
  /** RMSNorm's epsilon. */
  epsilon: number;
  rope: Rope;
  /** Projections that add a bias, as Qwen2's q, k and v do. */
  biases: readonly Projection[];
  /** Attention divides its scores by the root of this: by default, the size of a head. */
  queryScalar: number;
  /** Undefined where all layers see all positions before. */
  sliding: SlidingLayers | undefined;
  /** The `model_type` of its `config.json`. */
  family: string;
  /** Layers, from 0, whose queries and keys do not turn. */
  unrotated: readonly number[];
}

/** Added to the mean square before its root, so that RMSNorm never divides by zero. */
const NORM_EPSILON = 1e-5;

/**
 * Base of the rotary angles: the slowest turns about once in the context. Llama's 10,000 leaves
 * most dimensions of a small head all but still in a context this short, and learns slower.
 */
function ropeTheta(context: number): number {
  return Math.max(100, context / 2);
}

/** More than any model has: each layer's tensors are listed. */
export const MOST_LAYERS = constants.maxLayers;

/** Kit's own model of these sizes, but for what the shape says besides. */
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
    unrotated: [],
    ...shape,
  };
}

/** Size of the feed-forward's hidden state: Llama's 8/3 of the width, up to a multiple of 16. */
export function feedForwardWidth(width: number): number {
  return Math.ceil((width * 8) / 3 / 16) * 16;
}
