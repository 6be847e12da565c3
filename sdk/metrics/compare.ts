import type { Answered, Metrics, ScoreAnswer, SetMetric } from "../../protocol/metric.ts";
import { createUniform } from "../engine.ts";
import { exactMatch } from "../metrics.ts";
import { type Scores, figuresOf, isPerAnswer, meanOf, scoreAnswers } from "./score.ts";
import { type Interval, bootstrap, percentiles, wilson } from "./statistics.ts";
import { type WrongRow, wrongRows } from "./wrongRows.ts";

/** A metric of one model, or of two. */
export interface ComparedFigure {
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
  figures: ComparedFigure[];
  /** Worst first. */
  changed: ChangedRow[];
  /** Rows that the model gets wrong. */
  wrong: WrongRow[];
}

/** What to compare, and how. */
export interface Compared {
  after: readonly Answered[];
  /** The other model's answers to the same rows, in the same order. */
  before?: readonly Answered[] | undefined;
  /** Metrics where lower is better. */
  lowerIsBetter?: readonly string[];
  seed: number;
  signal?: AbortSignal;
  /** Called with notes on what is waited for. */
  onNote?: (text: string) => void;
}

/** Fewer for a set metric, which is recomputed for each resample. */
const SET_RESAMPLES = 1_000;
/** Five changes in the same direction happen by chance once in 16 times, so ignore the bootstrap below six. */
const MIN_CHANGED = 6;
/** Maximum parts with a value of their own: keys taken from data could be unlimited. */
const MAX_PARTS = 50;

/**
 * Scores the answers of a model, and compares them with another's.
 * @throws KitError `METRIC_FAILED`; the signal's reason
 */
export async function compareAnswers(metrics: Metrics, compared: Compared): Promise<Comparison> {
  const { after, before, lowerIsBetter = [], seed, signal, onNote } = compared;
  const now = await scoreAnswers(metrics, after, { signal, onNote });
  const then = before && (await scoreAnswers(metrics, before, { signal, onNote }));
  const figures = Object.entries(metrics).flatMap(([name, metric]) => {
    const uniform = createUniform(seed, name);
    if (!isPerAnswer(metric)) return figuresOfSet([name, metric], [after, before], uniform);
    const parts = [after, before].map((answers) => answers && partsOf([name, metric], answers));
    const names = new Set(parts[0]!.each.flatMap(Object.keys));
    return [
      ...figureOf(name, [now, then], uniform),
      ...[...names]
        .slice(0, MAX_PARTS)
        .flatMap((part) => figureOf(part, [parts[0]!, parts[1]], uniform)),
    ];
  });
  const signs = Object.entries(metrics).flatMap(([name, metric]): [string, 1 | -1][] =>
    isPerAnswer(metric) ? [[name, lowerIsBetter.includes(name) ? -1 : 1]] : [],
  );
  const changed = before && then ? changedRows(signs, [after, now], [before, then]) : [];
  const higherIsBetter = signs.flatMap(([name, sign]) => (sign > 0 ? name : []));
  const wrong = wrongRows(after, now, signs.length > 0 ? higherIsBetter : undefined);
  return { figures, changed, wrong };
}

/** Scores of answers' parts, named by metric and part: `jsonFields.title`. */
function partsOf(
  [name, { parts }]: readonly [string, ScoreAnswer],
  answers: readonly Answered[],
): Pick<Scores, "each"> {
  const each = answers.map((answered) => {
    const scores = Object.entries(parts?.(answered) ?? {});
    return Object.fromEntries(scores.map(([part, score]) => [`${name}.${part}`, score]));
  });
  return { each };
}

type Pair<T> = readonly [after: T, before: T | undefined];

function figureOf(
  name: string,
  [now, then]: Pair<Pick<Scores, "each">>,
  uniform: () => number,
): ComparedFigure[] {
  const pairs = now.each.flatMap(({ [name]: score }, i) => {
    const was = then?.each[i]?.[name];
    return score === undefined || (then && was === undefined) ? [] : [{ score, was }];
  });
  if (pairs.length === 0) return [];
  const scores = pairs.map(({ score }) => score);
  const figure = {
    name,
    rows: pairs.length,
    value: meanOf(scores),
    ...intervalOf(scores, uniform),
  };
  const were = pairs.flatMap(({ was }) => was ?? []);
  if (!then) return [figure];
  const differences = scores.map((score, i) => score - were[i]!);
  const difference = differenceOf(meanOf(differences), bootstrap(differences, uniform), {
    changed: differences.filter((one) => one !== 0).length,
  });
  return [{ ...figure, before: meanOf(were), difference }];
}

function intervalOf(
  scores: readonly number[],
  uniform: () => number,
): Pick<ComparedFigure, "interval" | "by"> {
  if (scores.some((score) => score !== 0 && score !== 1)) {
    return { interval: bootstrap(scores, uniform), by: "bootstrap" };
  }
  const right = scores.filter((score) => score === 1).length;
  return { interval: wilson(right, scores.length), by: "Wilson" };
}

function differenceOf(
  value: number,
  interval: Interval,
  { changed }: { changed: number },
): Required<ComparedFigure>["difference"] {
  const mayBeChance = (interval[0] <= 0 && interval[1] >= 0) || changed < MIN_CHANGED;
  return { value, interval, mayBeChance };
}

function figuresOfSet(
  [name, metric]: readonly [string, SetMetric],
  [after, before]: Pair<readonly Answered[]>,
  uniform: () => number,
): ComparedFigure[] {
  const rows = after.length;
  const now = figuresOf(name, metric, after);
  const then = before && figuresOf(name, metric, before);
  const samples = Array.from({ length: SET_RESAMPLES }, () => {
    const chosen = after.map(() => Math.floor(uniform() * rows));
    const of = (answers: readonly Answered[]) => metric.ofAll(chosen.map((i) => answers[i]!));
    return { now: of(after), then: before && of(before) };
  });
  const changed = after.filter(({ output }, i) => output !== before?.[i]?.output).length;
  return Object.entries(now).map(([suffix, value]): ComparedFigure => {
    const values = samples.map((one) => one.now[suffix] ?? 0);
    const figure = {
      name: name + suffix,
      rows,
      value,
      interval: percentiles(values),
      by: "bootstrap" as const,
    };
    const was = then?.[suffix];
    if (was === undefined) return figure;
    const differences = samples.map((one, i) => values[i]! - (one.then?.[suffix] ?? 0));
    const difference = differenceOf(value - was, percentiles(differences), { changed });
    return { ...figure, before: was, difference };
  });
}

function changedRows(
  signs: readonly (readonly [name: string, sign: 1 | -1])[],
  [after, now]: readonly [readonly Answered[], Scores],
  [before, then]: readonly [readonly Answered[], Scores],
): ChangedRow[] {
  const rows = after.map((answered, i) => {
    const { input, expected, output } = answered;
    const was = before[i]!;
    const changes = signs.map(([name, sign]) => {
      const [score, earlier] = [now.each[i]?.[name], then.each[i]?.[name]];
      return score === undefined || earlier === undefined ? 0 : sign * (score - earlier);
    });
    // With set metrics only, compare by exact match.
    if (signs.length === 0) changes.push(exactMatch(answered) - exactMatch(was));
    const change = changes.find((one) => one !== 0) ?? 0;
    return { input, expected, before: was.output, after: output, change };
  });
  return rows.filter(({ change }) => change !== 0).toSorted((a, b) => a.change - b.change);
}
