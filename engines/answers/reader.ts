import type { NextToken } from "./nextToken.ts";

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
