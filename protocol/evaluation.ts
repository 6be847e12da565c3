import type { EventData, Measured } from "./event.ts";
import { type ObjectiveType, rulesOf } from "./objective.ts";

/** The metric of every run with held-out rows. */
export const EVAL_LOSS = "evalLoss";

/** Whether training itself logs this metric of held-out rows; `evaluate` computes all others. */
export function isLogged(name: string, objective: { type: ObjectiveType } | undefined): boolean {
  return name === EVAL_LOSS || Object.hasOwn(rulesOf(objective).metrics, name);
}

/** Whether lower is better for a metric, unless the project says otherwise. */
export function isLowerBetter(
  name: string,
  objective: { type: ObjectiveType } | undefined,
): boolean {
  return isLogged(name, objective) && rulesOf(objective).metrics[name] !== "higher";
}

/** A log's value of a held-out metric. */
export function heldOutValue(
  { evalLoss, metrics }: EventData["training.log"],
  name: string,
): Measured | undefined {
  return name === EVAL_LOSS ? evalLoss : metrics?.[evalName(name)];
}

/** `rewardsMargins` → `evalRewardsMargins`, as `evalLoss`. */
export function evalName(name: string): string {
  return `eval${name.charAt(0).toUpperCase()}${name.slice(1)}`;
}

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

/** Last values shown of a metric's history. */
const LAST_SHOWN = 3;

/** A value of a metric's history, with its index in the whole. */
export interface HistoryPoint {
  step: number;
  value: number;
  index: number;
}

/**
 * The values shown of a metric's history: the first, the best and the last three, and any single value
 * between two of these, for which "…" would be no shorter. Pure.
 */
export function shownOfHistory(all: readonly HistoryPoint[], bestStep: number): HistoryPoint[] {
  const isShown = isAlwaysShown(all, (point) => point.step === bestStep);
  return all.filter(
    (_, n) =>
      isShown(n) ||
      (isShown(n - 1) && isShown(n + 1) && all[n + 1]!.index - all[n - 1]!.index === 2),
  );
}

/** The values that a page needs for that: also the first two of each gap, which reveal it. Pure. */
export function sentOfHistory<T>(all: readonly T[], best: T | undefined): T[] {
  const isShown = isAlwaysShown(all, (one) => one === best);
  return all.filter((_, n) => isShown(n) || isShown(n - 1) || isShown(n - 2));
}

function isAlwaysShown<T>(all: readonly T[], isBest: (one: T) => boolean): (n: number) => boolean {
  return (n) => n === 0 || n >= all.length - LAST_SHOWN || (n > 0 && isBest(all[n]!));
}

/** The log with the lowest `evalLoss`, the first of equals; undefined if none is finite. Pure. */
export function bestOf<T extends { evalLoss?: Measured }>(logs: readonly T[]): T | undefined {
  let best: T | undefined;
  for (const log of logs) if (isLower(log.evalLoss, best?.evalLoss ?? undefined)) best = log;
  return best;
}
