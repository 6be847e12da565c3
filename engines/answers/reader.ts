/** Feeds tokens to the model and takes its predictions. */
export interface Reader {
  /** The tokens to read; grows during generation. */
  readonly tokens: readonly number[];
  /** First token whose prediction is needed. */
  readonly wantedFrom: number;
  /**
   * Whether it needs all logits. Default: only the highest; an engine may omit others if copying is slow.
   */
  readonly asksAny?: boolean;
  /**
   * Works on `allowed` until a deadline (`performance.now()`).
   * @returns whether it is ready; other readers proceed meanwhile. Default: always ready
   */
  prepare?: (until: number) => boolean;
  /** Bitmap of the allowed next tokens, as of `allowedBits`. Default: the engine's. */
  allowed?: () => Int32Array | undefined;
  /**
   * Takes each needed prediction, in order.
   * @returns whether the reader is done
   * @throws an error with which the reading then rejects
   */
  take: (next: NextToken) => boolean;
  /** Checked before each step; once aborted, the reading rejects. */
  isCancelled: () => boolean;
}

/** Groups of masses: 1 alone, then eight per power of two. Below 2⁻³⁰, tokens are never drawn. */
export const GROUPS = 241;

/** Unnormalized probabilities; the most likely token has 1. */
export interface Masses {
  /** [vocabulary] */
  of: Float32Array;
  /** [GROUPS] */
  sums: Float64Array;
  /** The tokens of a group; valid until the next call. */
  tokensOf: (group: number) => Int32Array;
}

/** A prediction. The engine owns it, and reuses it in its next step. */
export interface NextToken {
  /** [vocabulary], including disallowed tokens; −∞ if the engine omitted them. */
  logits: Float32Array;
  /** Argmax over the allowed tokens, the lowest id on a tie; −1 if none is allowed. */
  likeliest: number;
  /** Whether the logits are finite and not all equal. */
  isTelling: boolean;
  /** log-sum-exp over all logits. */
  logTotal: () => number;
  /**
   * Unnormalized probabilities of the allowed tokens, e^((logit − max) / temperature); overwrites the logits.
   */
  masses: (temperature: number) => Masses;
}
