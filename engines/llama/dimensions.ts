import type { ModelShape } from "../../protocol/trainConfig.ts";
import { VOCABULARY } from "../tokens/byteTokens.ts";
import { NORM_EPSILON, ropeTheta } from "./constants.ts";
import type { Projection } from "./weights.ts";

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

/** Sizes of a model of Llama's family, and what else gives its weights their meaning. */
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
  /** Whether each head's query and key are normalized before they turn, as in Qwen3. */
  headNorms: boolean;
}

/** More than any model has: each layer's tensors are listed. */
export const MOST_LAYERS = 10_000;

/** A model by what it does not share with Kit's own of the same sizes. */
export type LlamaShape = ModelShape & Partial<Dimensions>;

export function dimensionsOf(shape: LlamaShape): Dimensions {
  const { heads, width, context } = shape;
  return {
    kvHeads: heads,
    headDim: width / heads,
    intermediateSize: feedForwardWidth(width),
    vocabulary: VOCABULARY,
    tied: true,
    epsilon: NORM_EPSILON,
    rope: { type: "default", theta: ropeTheta(context) },
    biases: [],
    headNorms: false,
    ...shape,
  };
}

/** Size of the feed-forward's hidden state: Llama's 8/3 of the width, up to a multiple of 16. */
export function feedForwardWidth(width: number): number {
  return Math.ceil((width * 8) / 3 / 16) * 16;
}

/** [out, in] of each projection. */
export function projectionSizes(projection: Projection, d: Dimensions): [number, number] {
  switch (projection) {
    case "q_proj":
      return [d.heads * d.headDim, d.width];
    case "k_proj":
    case "v_proj":
      return [d.kvHeads * d.headDim, d.width];
    case "o_proj":
      return [d.width, d.heads * d.headDim];
    case "gate_proj":
    case "up_proj":
      return [d.intermediateSize, d.width];
    case "down_proj":
      return [d.width, d.intermediateSize];
  }
}
