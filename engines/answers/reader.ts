/** Feeds tokens to the model and takes its predictions. */
export interface Reader {
  /** The tokens to read; grows during generation. */
  readonly tokens: readonly number[];
  /** First token whose prediction is needed. */
  readonly logitsFrom: number;
  /** Whether it needs all logits. By default an engine may return only the highest ones. */
  readonly needsAllLogits?: boolean;
  /**
   * Computes `allowed` until a deadline, in `performance.now()` milliseconds. Default: nothing to compute.
   * @returns whether it is ready; if not, other readers proceed meanwhile
   */
  prepare?: (until: number) => boolean;
  /** Bitmap of the allowed next tokens, as returned by `allowedBits`. Default: the engine's `answerTokens`. */
  allowed?: () => Int32Array | undefined;
  /**
   * Takes each needed prediction, in order.
   * @returns whether the reader is done
   * @throws an error, which rejects the read
   */
  take: (next: NextToken) => boolean;
  /** Called with the number of tokens that the engine had kept from earlier readers. */
  onCached?: (count: number) => void;
  /** Checked before each step; if true, the read rejects. */
  isCancelled: () => boolean;
}

/** Buckets of weights: one for weight 1, then eight per power of two. Below 2⁻³⁰, tokens are never sampled. */
export const BUCKETS = 241;

/** Unnormalized probabilities; the most likely token has 1. */
export interface SamplingWeights {
  /** [vocabulary] */
  byToken: Float32Array;
  /** The sum of each bucket's weights. */
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
  /** Weights of the allowed tokens, e^((logit − max) / temperature). Overwrites the logits. */
  weights: (temperature: number) => SamplingWeights;
}
