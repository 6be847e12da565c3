/** Feeds tokens to the model and takes its predictions. */
export interface Reader {
  /** The tokens to read; grows during generation. */
  readonly tokens: readonly number[];
  /** First token whose prediction is needed. */
  readonly logitsFrom: number;
  /**
   * Whether it needs all logits. By default an engine may return only the highest logits.
   */
  readonly needsAllLogits?: boolean;
  /**
   * Works on `allowed` until a deadline (`performance.now()`).
   * @returns whether it is ready; other readers proceed meanwhile. Default: always ready
   */
  prepare?: (until: number) => boolean;
  /** Bitmap of the allowed next tokens, as returned by `allowedBits`. Default: the engine's. */
  allowed?: () => Int32Array | undefined;
  /**
   * Takes each needed prediction, in order.
   * @returns whether the reader is done
   * @throws an error, which rejects the read
   */
  take: (next: NextToken) => boolean;
  /** Checked before each step; if true, the read rejects. */
  isCancelled: () => boolean;
}

/** Buckets of weights: one for weight 1, then eight per power of two. Below 2⁻³⁰, tokens are never sampled. */
export const BUCKETS = 241;

/** Unnormalized probabilities; the most likely token has 1. */
export interface SamplingWeights {
  /** [vocabulary] */
  byToken: Float32Array;
  /** [BUCKETS] */
  sums: Float64Array;
  /** The tokens of a bucket; valid until the next call. */
  tokensOf: (bucket: number) => Int32Array;
}

/** A prediction. The engine owns it, and reuses it in its next step. */
export interface NextToken {
  /** [vocabulary], including disallowed tokens; −∞ if the engine omitted them. */
  logits: Float32Array;
  /** Argmax over the allowed tokens, the lowest id on a tie; −1 if none is allowed. */
  argmax: number;
  /** Whether a logit is not finite, or all are equal. */
  isDegenerate: boolean;
  /** log-sum-exp over all logits. */
  logSumExp: () => number;
  /**
   * Unnormalized probabilities of the allowed tokens, e^((logit − max) / temperature); overwrites the logits.
   */
  weights: (temperature: number) => SamplingWeights;
}
