import type { ModelShape } from "../../protocol/trainConfig.ts";
import constants from "../constants.json" with { type: "json" };
import { VOCABULARY } from "../tokens/byteTokens.ts";
import { NORM_EPSILON, ropeTheta } from "./constants.ts";
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

/** A `config.json`. */
export type Config = Record<string, unknown>;

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

/** More than any model has: each layer's tensors are listed. */
export const MOST_LAYERS = constants.mostLayers;

/** What distinguishes a model from Kit's own of the same sizes. */
export type LlamaShape = ModelShape & Partial<Dimensions>;

export function dimensionsOf(shape: LlamaShape): Dimensions {
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
