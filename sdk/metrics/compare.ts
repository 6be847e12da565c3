import type { Answered, Metrics, ScoreAnswer, AggregateMetric } from "../../protocol/metric.ts";
import { createUniform } from "../engine.ts";
import { exactMatch } from "../metrics.ts";
import { type Scores, aggregateValues, isPerAnswer, meanOf, scoreAnswers } from "./score.ts";
import { type Interval, bootstrap, percentiles, wilson } from "./statistics.ts";
import { type WrongRow, wrongRows } from "./wrongRows.ts";

/** A metric of one model, or of two. Its fields are those of `kit eval --json`. */
export interface ComparedMetric {
  name: string;
  /** Number of scored rows; with two models, of rows that both have scores for. */
  rows: number;
  value: number;
  /** 95 % confidence interval: Wilson's for a proportion, else a bootstrap's. */
  interval: Interval;
  by: "Wilson" | "bootstrap";
  before?: number;
  /** This model's value minus the other's, with a 95 % interval by a paired bootstrap. */
  difference?: { value: number; interval: Interval; mayBeChance: boolean };
}

/** A row whose score changed. */
export interface ChangedRow {
  input: string;
  expected: string;
  before: string;
  after: string;
  /** By the first metric that scores the answers differently; negative if worse. */
  change: number;
}

export interface Comparison {
  figures: ComparedMetric[];
  /** Worst first. */
  changed: ChangedRow[];
  /** Rows that the model gets wrong. */
  wrong: WrongRow[];
}

export interface Compared {
  after: readonly Answered[];
  /** The other model's answers to the same rows, in the same order. */
  before?: readonly Answered[] | undefined;
  /** Metrics where lower is better. */
  lowerIsBetter?: readonly string[];
  seed: number;
  signal?: AbortSignal;
  /** Called with notes on slow metrics. */
  onNote?: (text: string) => void;
}

/** Fewer for an aggregate metric, which is recomputed for each resample. */
const AGGREGATE_RESAMPLES = 1_000;
/** Five changes in the same direction happen by chance once in 16 times, so fewer than six are never significant. */
const MIN_CHANGED = 6;
/** Maximum parts with a value of their own: keys taken from data could be unlimited. */
const MAX_PARTS = 50;

/**
 * Scores the answers of a model, and compares them with another's.
 * @throws KitError `METRIC_FAILED`; the signal's reason
 */
export async function compareAnswers(metrics: Metrics, compared: Compared): Promise<Comparison> {
  const { after, before, lowerIsBetter = [], seed, signal, onNote } = compared;
  const afterScores = await scoreAnswers(metrics, after, { signal, onNote });
  const beforeScores = before && (await scoreAnswers(metrics, before, { signal, onNote }));
  const figures = Object.entries(metrics).flatMap(([name, metric]) => {
    const uniform = createUniform(seed, name);
    if (!isPerAnswer(metric)) return compareAggregates([name, metric], [after, before], uniform);
    const parts = [after, before].map((answers) => answers && partsOf([name, metric], answers));
    const names = new Set(parts[0]!.perAnswer.flatMap(Object.keys));
    return [
      ...compareScores(name, [afterScores, beforeScores], uniform),
      ...[...names]
        .slice(0, MAX_PARTS)
        .flatMap((part) => compareScores(part, [parts[0]!, parts[1]], uniform)),
    ];
  });
  const signs = Object.entries(metrics).flatMap(([name, metric]): [string, 1 | -1][] =>
    isPerAnswer(metric) ? [[name, lowerIsBetter.includes(name) ? -1 : 1]] : [],
  );
  const changed =
    before && beforeScores ? changedRows(signs, [after, afterScores], [before, beforeScores]) : [];
  const higherIsBetter = signs.flatMap(([name, sign]) => (sign > 0 ? name : []));
  const wrong = wrongRows(after, afterScores, signs.length > 0 ? higherIsBetter : undefined);
  return { figures, changed, wrong };
}

/** Scores of answers' parts, named by metric and part: `jsonFields.title`. */
function partsOf(
  [name, { parts }]: readonly [string, ScoreAnswer],
  answers: readonly Answered[],
): Pick<Scores, "perAnswer"> {
  const perAnswer = answers.map((answered) => {
    const scores = Object.entries(parts?.(answered) ?? {});
    return Object.fromEntries(scores.map(([part, score]) => [`${name}.${part}`, score]));
  });
  return { perAnswer };
}

type Pair<T> = readonly [after: T, before: T | undefined];

function compareScores(
  name: string,
  [afterScores, beforeScores]: Pair<Pick<Scores, "perAnswer">>,
  uniform: () => number,
): ComparedMetric[] {
  const pairs = afterScores.perAnswer.flatMap(({ [name]: score }, i) => {
    const before = beforeScores?.perAnswer[i]?.[name];
    return score === undefined || (beforeScores && before === undefined) ? [] : [{ score, before }];
  });
  if (pairs.length === 0) return [];
  const scores = pairs.map(({ score }) => score);
  const metric = {
    name,
    rows: pairs.length,
    value: meanOf(scores),
    ...intervalOf(scores, uniform),
  };
  const beforeValues = pairs.flatMap(({ before }) => before ?? []);
  if (!beforeScores) return [metric];
  const differences = scores.map((score, i) => score - beforeValues[i]!);
  const difference = differenceOf(meanOf(differences), bootstrap(differences, uniform), {
    changed: differences.filter((value) => value !== 0).length,
  });
  return [{ ...metric, before: meanOf(beforeValues), difference }];
}

function intervalOf(
  scores: readonly number[],
  uniform: () => number,
): Pick<ComparedMetric, "interval" | "by"> {
  if (scores.some((score) => score !== 0 && score !== 1)) {
    return { interval: bootstrap(scores, uniform), by: "bootstrap" };
  }
  const correct = scores.filter((score) => score === 1).length;
  return { interval: wilson(correct, scores.length), by: "Wilson" };
}

function differenceOf(
  value: number,
  interval: Interval,
  { changed }: { changed: number },
): Required<ComparedMetric>["difference"] {
  const mayBeChance = (interval[0] <= 0 && interval[1] >= 0) || changed < MIN_CHANGED;
  return { value, interval, mayBeChance };
}

function compareAggregates(
  [name, metric]: readonly [string, AggregateMetric],
  [after, before]: Pair<readonly Answered[]>,
  uniform: () => number,
): ComparedMetric[] {
  const rows = after.length;
  const afterValues = aggregateValues(name, metric, after);
  const beforeValues = before && aggregateValues(name, metric, before);
  const samples = Array.from({ length: AGGREGATE_RESAMPLES }, () => {
    const indices = after.map(() => Math.floor(uniform() * rows));
    const valuesOf = (answers: readonly Answered[]) =>
      metric.compute(indices.map((i) => answers[i]!));
    return { after: valuesOf(after), before: before && valuesOf(before) };
  });
  const changed = after.filter(({ output }, i) => output !== before?.[i]?.output).length;
  return Object.entries(afterValues).map(([suffix, value]): ComparedMetric => {
    const values = samples.map((sample) => sample.after[suffix] ?? 0);
    const result = {
      name: name + suffix,
      rows,
      value,
      interval: percentiles(values),
      by: "bootstrap" as const,
    };
    const beforeValue = beforeValues?.[suffix];
    if (beforeValue === undefined) return result;
    const differences = samples.map((sample, i) => values[i]! - (sample.before?.[suffix] ?? 0));
    const difference = differenceOf(value - beforeValue, percentiles(differences), { changed });
    return { ...result, before: beforeValue, difference };
  });
}

function changedRows(
  signs: readonly (readonly [name: string, sign: 1 | -1])[],
  [after, afterScores]: readonly [readonly Answered[], Scores],
  [before, beforeScores]: readonly [readonly Answered[], Scores],
): ChangedRow[] {
  const rows = after.map((answered, i) => {
    const { input, expected, output } = answered;
    const earlier = before[i]!;
    const changes = signs.map(([name, sign]) => {
      const [score, other] = [afterScores.perAnswer[i]?.[name], beforeScores.perAnswer[i]?.[name]];
      return score === undefined || other === undefined ? 0 : sign * (score - other);
    });
    // With aggregate metrics only, compare by exact match.
    if (signs.length === 0) changes.push(exactMatch(answered) - exactMatch(earlier));
    const change = changes.find((value) => value !== 0) ?? 0;
    return { input, expected, before: earlier.output, after: output, change };
  });
  return rows.filter(({ change }) => change !== 0).toSorted((a, b) => a.change - b.change);
}
