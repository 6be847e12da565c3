import type { EventData, Measured } from "./event.ts";
import { isRecord, numbersIn } from "./isRecord.ts";
import { type Better, type ObjectiveType, betterOf, rulesOf } from "./objective.ts";

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

/** The name of a metric on held-out rows: `rewardsMargins` → `evalRewardsMargins`. */
export function evalName(name: string): string {
  return `eval${name.charAt(0).toUpperCase()}${name.slice(1)}`;
}

/** Whether the name is that of a metric on held-out rows. */
export function isHeldOut(name: string): boolean {
  return /^eval[A-Z]/.test(name);
}

/** A log's finite held-out metrics. Pure. */
export function heldOutValues(data: unknown): Record<string, number> {
  const { evalLoss, metrics } = isRecord(data) ? data : {};
  const values = Object.entries(numbersIn(metrics)).filter(([name]) => isHeldOut(name));
  return { ...numbersIn({ evalLoss }), ...Object.fromEntries(values) };
}

/** Which value of a held-out metric is better, if Kit knows. */
export function betterHeldOut(name: string): Better | undefined {
  if (name === EVAL_LOSS) return "lower";
  return betterOf(withoutEval(name));
}

/** `evalRewardsMargins` → `rewardsMargins`. */
export function withoutEval(name: string): string {
  return name.replace(/^eval(.)/, (_, first: string) => first.toLowerCase());
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

/** The log with the lowest `evalLoss`, the first of equals; undefined if none is finite. Pure. */
export function bestOf<T extends { evalLoss?: Measured }>(logs: readonly T[]): T | undefined {
  let best: T | undefined;
  for (const log of logs) if (isLower(log.evalLoss, best?.evalLoss ?? undefined)) best = log;
  return best;
}
