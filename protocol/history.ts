import { betterHeldOut } from "./evaluation.ts";
import type { Better } from "./objective.ts";

/** Number of a history's last values that are shown. */
const LAST_SHOWN = 3;

/** A metric's value after a step; step 0 is the model before training. */
export interface StepValue {
  step: number;
  value: number;
}

/** A value of a metric's history, with its index in the whole. */
interface HistoryPoint extends StepValue {
  index: number;
}

/** A metric's history without the values that are not shown. */
export interface MetricHistory {
  points: readonly HistoryPoint[];
  /** Number of values, shown or not. */
  count: number;
  /** Undefined where nothing says what is better. */
  best: StepValue | undefined;
  /** Number of held-out rows that the model answered. */
  rows?: number | undefined;
}

/**
 * A history with one more value. Shown are the first, the best and the last three, and a value that
 * stands alone between two of these, for which "…" would be no shorter. Pure.
 */
export function withValue(
  before: MetricHistory | undefined,
  point: StepValue,
  better: Better | undefined,
): Omit<MetricHistory, "rows"> {
  const { points = [], count = 0, best: oldBest } = before ?? {};
  const best =
    better && (!oldBest || isBetter(point.value, oldBest.value, better) ? point : oldBest);
  const all = [...points, { ...point, index: count }];
  const isShown = isAlwaysShown(all, ({ step }) => step === best?.step);
  const shown = all.filter(
    (_, n) =>
      isShown(n) ||
      (isShown(n - 1) && isShown(n + 1) && all[n + 1]!.index - all[n - 1]!.index === 2),
  );
  return { points: shown, count: count + 1, best };
}

/**
 * The logs that a page needs to show the histories of all their values. They include the first two of the
 * values that are not shown, from which the page knows that there is a gap. Pure.
 */
export function logsForHistories<T extends { values: Record<string, number> }>(
  logs: readonly T[],
): T[] {
  const names = new Set(logs.flatMap(({ values }) => Object.keys(values)));
  const needed = [...names].flatMap((name) => {
    const all = logs.filter(({ values }) => Object.hasOwn(values, name));
    const better = betterHeldOut(name);
    const best = all.reduce(
      (best, { values }) => (isBetter(values[name]!, best[name]!, better) ? values : best),
      all[0]!.values,
    );
    const isShown = isAlwaysShown(all, ({ values }) => values === best);
    return all.filter((_, n) => isShown(n) || isShown(n - 1) || isShown(n - 2));
  });
  const neededLogs = new Set(needed);
  return logs.filter((log) => neededLogs.has(log));
}

function isBetter(value: number, best: number, better: Better | undefined): boolean {
  return better === "lower" ? value < best : better === "higher" && value > best;
}

function isAlwaysShown<T>(all: readonly T[], isBest: (item: T) => boolean): (n: number) => boolean {
  return (n) => n === 0 || n >= all.length - LAST_SHOWN || (n > 0 && isBest(all[n]!));
}
