import type { Measured } from "./event.ts";

/** The metric that every evaluated training has. */
export const EVAL_LOSS = "evalLoss";

/** A model's loss on the held-out rows after a step. */
export interface Evaluation {
  step: number;
  /** Finite. */
  evalLoss: number;
}

/**
 * Whether an `evalLoss` beats the best so far. A non-finite one never does; on a tie, the first stays
 * the best. Pure.
 */
export function isLower(evalLoss: Measured | undefined, best = Infinity): evalLoss is number {
  return typeof evalLoss === "number" && Number.isFinite(evalLoss) && evalLoss < best;
}

/** The one with the lowest `evalLoss`, the first of equals; undefined if none is finite. Pure. */
export function bestOf<T extends { evalLoss?: Measured }>(logs: readonly T[]): T | undefined {
  let best: T | undefined;
  for (const log of logs) if (isLower(log.evalLoss, best?.evalLoss ?? undefined)) best = log;
  return best;
}
