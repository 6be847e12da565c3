import { NORM_EPSILON, ropeTheta } from "../../llama/constants.ts";
import { VOCABULARY } from "../../llama/tokenizer.ts";
import { type LlamaShape, feedForwardWidth } from "../../llama/weights.ts";

/** Sizes of a Llama as the kernels want them. */
export interface Dimensions {
  layers: number;
  heads: number;
  /** Heads of keys and values; divides `heads`. */
  kvHeads: number;
  /** Of a head, an even number. */
  size: number;
  width: number;
  /** Of the feed-forward. */
  hidden: number;
  vocabulary: number;
  context: number;
  /** Whether the head is the embedding. */
  tied: boolean;
  epsilon: number;
  ropeTheta: number;
}

export function dimensionsOf(shape: LlamaShape): Dimensions {
  const { layers, heads, width, context, tieWordEmbeddings = true } = shape;
  return {
    layers,
    heads,
    kvHeads: heads,
    size: width / heads,
    width,
    hidden: feedForwardWidth(width),
    vocabulary: VOCABULARY,
    context,
    tied: tieWordEmbeddings,
    epsilon: NORM_EPSILON,
    ropeTheta: ropeTheta(context),
  };
}

/** Numbers of a position's queries, keys and values, side by side. */
export function qkvWidth({ heads, kvHeads, size }: Dimensions): number {
  return (heads + 2 * kvHeads) * size;
}

/**
 * Cosines and sines of the rotary angles of `count` positions, each [count, size / 2], in Hugging
 * Face's convention: dimension i turns together with i + size/2.
 */
export function rotations({ size, ropeTheta }: Dimensions, count: number) {
  const half = size / 2;
  const cosines = new Float32Array(count * half);
  const sines = new Float32Array(count * half);
  for (let position = 0; position < count; position++) {
    for (let i = 0; i < half; i++) {
      const angle = position * ropeTheta ** (-(2 * i) / size);
      cosines[position * half + i] = Math.cos(angle);
      sines[position * half + i] = Math.sin(angle);
    }
  }
  return { cosines, sines };
}
