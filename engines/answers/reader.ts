/** Reads tokens and takes the predictions that follow them. */
export interface Reader {
  /** What is read. It grows while an answer does. */
  readonly tokens: readonly number[];
  /** From this token on, what follows is wanted. */
  readonly wantedFrom: number;
  /**
   * Whether it needs the logits of all tokens. Default: only of the likeliest; an engine may leave out the others
   * where copying all is slow.
   */
  readonly asksAny?: boolean;
  /**
   * Works until then (`performance.now()`) at what `allowed` gives.
   * @returns whether that is known: others go on meanwhile. Default: it is
   */
  prepare?: (until: number) => boolean;
  /** Bits of the tokens that may follow the last one, as `allowedBits` has them. Default: the engine's. */
  allowed?: () => Int32Array | undefined;
  /**
   * Takes what follows each wanted token, in their order.
   * @returns whether it has what it wanted
   * @throws what the reading then rejects with
   */
  take: (next: NextToken) => boolean;
  /** Checked before each step; once aborted, the reading rejects. */
  isCancelled: () => boolean;
}

/** Groups of masses: 1 alone, then each an eighth of a power of two. What is below 2⁻³⁰ is never drawn. */
export const GROUPS = 241;

/** How likely tokens are, in proportion to the likeliest, which has 1. */
export interface Masses {
  /** [vocabulary] */
  of: Float32Array;
  /** [GROUPS] */
  sums: Float64Array;
  /** The tokens of a group. They are the caller's until it asks for others. */
  tokensOf: (group: number) => Int32Array;
}

/** What follows a token. The engine owns it, and reuses it in its next step. */
export interface NextToken {
  /** [vocabulary], also of tokens that may not be chosen; −∞ of those that the engine has left out. */
  logits: Float32Array;
  /** The allowed token with the greatest logit; the lowest id on a tie; −1 if no token is allowed. */
  likeliest: number;
  /** Whether the logits are finite, and not all the same. */
  isTelling: boolean;
  /** The logarithm of the sum of e^logit over all tokens. */
  logTotal: () => number;
  /**
   * e^((logit − likeliest's) / temperature), which take the place of the logits: how likely each token is that may be
   * chosen.
   */
  masses: (temperature: number) => Masses;
}
