import type { Rope } from "./dimensions.ts";

/**
 * The operations that a model is made of, as a family lists them. A backend gives each its memory and
 * its kernels. `X` stands for what flows between them: [tokens, width].
 */
export interface Layers<X> {
  /** Each token's row of the table, times the factor. Default 1. */
  embedding: (table: string, vocabulary: number, width: number, factor?: number) => X;
  /** RMSNorm by the weight of this name. `residual` as with `linear`. */
  norm: (x: X, weight: string, residual?: X) => X;
  /**
   * Linear maps of one input, side by side. With `residual`, y = residual + …, which ends a part of the
   * model: a backend may keep the parts' inputs alone and compute the rest again.
   */
  linear: (x: X, projections: readonly LinearMap[], residual?: X) => X;
  /** RMSNorm of each head's query and of each head's key, by the weights of these names. */
  headNorm: (qkv: X, heads: AttentionHeads, weights: { q: string; k: string }) => X;
  /** Turns queries and keys by their positions (RoPE). */
  rotation: (qkv: X, heads: AttentionHeads, rope: Rope) => X;
  /** Causal, with `heads / kvHeads` queries to a key. */
  attention: (qkv: X, heads: AttentionHeads, scores: AttentionScores) => X;
  /** silu(gate) · up of the two halves. */
  swiglu: (gateUp: X) => X;
  /** gelu(gate) · up of the two halves, GELU by its approximation with tanh. */
  geglu: (gateUp: X) => X;
  /** Those positions alone whose next token is wanted. */
  select: (x: X) => X;
  /** The logits, by a matrix [vocabulary, width]: one of its own, or the embedding's. */
  head: (x: X, weight: string, vocabulary: number) => void;
}

/** A linear map [out, in] of a model, with its bias if it has one. */
export interface LinearMap {
  /** The tensor's name without `.weight`. */
  name: string;
  out: number;
  hasBias: boolean;
  /** The name that LoRA's `targetModules` has for it. */
  target: string;
}

/** How a position's queries, keys and values lie side by side. */
export interface AttentionHeads {
  heads: number;
  /** Heads of keys and of values; divides `heads`. */
  kvHeads: number;
  /** An even number. */
  headDim: number;
}

/** What becomes of the products of queries and keys. */
export interface AttentionScores {
  /** They are divided by its root. */
  queryScalar: number;
  /** Positions that a query sees, its own among them. Default: all. */
  window?: number | undefined;
}
