import type { Answered, Metrics, SetMetric } from "../../protocol/metric.ts";
import { createRandom } from "../engine.ts";
import { type Scores, scoreAnswers } from "./score.ts";
import { type Interval, bootstrap, percentiles, wilson } from "./statistics.ts";

/** A figure of one model, or of two. */
export interface ComparedFigure {
  name: string;
  /** Rows that it is of, a count. */
  rows: number;
  value: number;
  /** 95 %, Wilson's: of a share of right answers, where there is no other model. */
  interval?: Interval;
  before?: number;
  /** Of this model's above the other's, its 95 % interval by a paired bootstrap. */
  difference?: { value: number; interval: Interval; mayBeChance: boolean };
}

/** A row whose answer is better or worse than the other model's. */
export interface ChangedRow {
  input: string;
  expected: string;
  before: string;
  after: string;
  /** By the first metric that scores one answer; below 0 where it got worse. */
  change: number;
}

export interface Comparison {
  figures: ComparedFigure[];
  /** Worse ones first. */
  changed: ChangedRow[];
}

/** Fewer for a metric of all answers, which is computed anew each time. */
const SET_RESAMPLES = 1_000;

/**
 * Compares the answers of two models to the same rows, in the same order.
 * @param before the other model's
 * @throws KitError `METRIC_FAILED`
 */
export async function compareAnswers(
  metrics: Metrics,
  after: readonly Answered[],
  before: readonly Answered[] | undefined,
  seed: number,
): Promise<Comparison> {
  const now = await scoreAnswers(metrics, after);
  const then = before && (await scoreAnswers(metrics, before));
  const figures = Object.entries(now.figures).map(([name, value]): ComparedFigure => {
    const scores = after.map((_, i) => now.each[i]?.[name]);
    const rows = after.length;
    if (!then || !before) {
      const isShare = scores.every((score) => score === 0 || score === 1);
      const right = scores.filter((score) => score === 1).length;
      return { name, rows, value, ...(isShare && { interval: wilson(right, rows) }) };
    }
    const was = then.figures[name] ?? NaN;
    const random = createRandom(seed, name);
    const interval =
      name in metrics && typeof metrics[name] === "function"
        ? bootstrap(differences(name, now, then), random.uniform)
        : ofSets(setOf(metrics, name), [after, before], random.uniform);
    const mayBeChance = interval[0] <= 0 && interval[1] >= 0;
    const difference = { value: value - was, interval, mayBeChance };
    return { name, rows, value, before: was, difference };
  });
  const changed = then && before ? changedRows([after, now], [before, then]) : [];
  return { figures, changed };
}

/** Of the rows that both have a score of. */
function differences(name: string, now: Scores, then: Scores): number[] {
  return now.each.flatMap((scores, i) => {
    const [one, other] = [scores[name], then.each[i]?.[name]];
    return one === undefined || other === undefined ? [] : [one - other];
  });
}

/** The metric whose figure it is: its own name, or one that begins with it. */
function setOf(metrics: Metrics, figure: string): readonly [string, SetMetric] {
  const [name, metric] =
    Object.entries(metrics).find(
      ([one, of]) => typeof of !== "function" && figure.startsWith(one),
    ) ?? [];
  return [figure.slice(name?.length), metric as SetMetric];
}

function ofSets(
  [suffix, metric]: readonly [string, SetMetric],
  [after, before]: readonly [readonly Answered[], readonly Answered[]],
  uniform: () => number,
): Interval {
  const found = Array.from({ length: SET_RESAMPLES }, () => {
    const chosen = after.map(() => Math.floor(uniform() * after.length));
    const of = (answers: readonly Answered[]) =>
      metric.ofAll(chosen.map((i) => answers[i]!))[suffix] ?? 0;
    return of(after) - of(before);
  });
  return percentiles(found);
}

function changedRows(
  [after, now]: readonly [readonly Answered[], Scores],
  [before, then]: readonly [readonly Answered[], Scores],
): ChangedRow[] {
  const rows = after.map(({ input, expected, output }, i) => {
    const [name] = Object.keys(now.each[i] ?? {});
    const was = before[i]?.output;
    // Metrics of all answers alone: whether the answer is right.
    const of = (scores: Scores, answer: string | undefined) =>
      name === undefined ? Number(answer === expected) : (scores.each[i]?.[name] ?? 0);
    const change = of(now, output) - of(then, was);
    return { input, expected, before: was ?? "", after: output, change };
  });
  return rows.filter(({ change }) => change !== 0).toSorted((a, b) => a.change - b.change);
}
