import type { Rope } from "./dimensions.ts";

/**
 * The operations that a family builds its models from. A backend provides their memory and kernels. `X` is an
 * activation, [tokens, width].
 */
export interface Layers<X> {
  /** Each token's row of the table, times the factor, by default 1. */
  embedding: (table: string, vocabulary: number, width: number, factor?: number) => X;
  /** RMSNorm with the named weight. `residual` as in `linear`. */
  norm: (x: X, weight: string, residual?: X) => X;
  /**
   * Linear layers of one input, their outputs concatenated. With `residual`, y = residual + …, and a segment of the
   * model ends: a backend may save only each segment's input and recompute the rest for the backward pass.
   */
  linear: (x: X, linears: readonly LinearLayer[], residual?: X) => X;
  /** RMSNorm of each head's query and key, with the named weights. */
  headNorm: (qkv: X, heads: AttentionHeads, weights: { q: string; k: string }) => X;
  /** Rotary position embedding of queries and keys. */
  rope: (qkv: X, heads: AttentionHeads, rope: Rope) => X;
  /** Causal attention, in which `heads / kvHeads` query heads share a key head. */
  attention: (qkv: X, heads: AttentionHeads, scores: AttentionScores) => X;
  /** silu(gate) · up. */
  swiglu: (gateUp: X) => X;
  /** gelu(gate) · up, with GELU's tanh approximation. */
  geglu: (gateUp: X) => X;
  /** Keeps only the positions whose next token is needed. */
  select: (x: X) => X;
  /** Logits, from a matrix [vocabulary, width] of its own or from the embedding's. */
  head: (x: X, weight: string, vocabulary: number) => void;
}

/** A linear layer [out, in]. */
export interface LinearLayer {
  /** The tensor's name without `.weight`. */
  name: string;
  out: number;
  hasBias: boolean;
  /** Its name in LoRA's `targetModules`. */
  target: string;
}

/** Heads of a position's concatenated queries, keys and values. */
export interface AttentionHeads {
  heads: number;
  /** Key and value heads; divides `heads`. */
  kvHeads: number;
  /** An even number. */
  headDim: number;
}

/** Options of attention's scores. */
export interface AttentionScores {
  /** Scores are divided by its square root. */
  queryScalar: number;
  /** Positions a query attends to, including its own. Default: all. */
  window?: number | undefined;
}
