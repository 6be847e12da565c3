import { inspect } from "node:util";
import { KitError, messageOf } from "../../protocol/error.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import type {
  Answered,
  Metric,
  Metrics,
  ScoreAnswer,
  AggregateMetric,
} from "../../protocol/metric.ts";
import { asError, orAborted, orStuck, withLocation } from "../projectCode.ts";

/** Keeps sums and differences of values finite. */
const MAX_VALUE = 1e300;
/** Time between two notes on a slow metric. */
const NOTE_MS = 10_000;
/** Characters of a prompt shown in an error. */
const SHOWN_LENGTH = 60;

export interface Scores {
  /** Values over all answers by metric; a metric that scored no answer has none. */
  values: Record<string, number>;
  /** Each answer's scores by metric; undefined without a score. */
  perAnswer: Record<string, number | undefined>[];
}

export interface ScoreOptions {
  signal?: AbortSignal | undefined;
  /** Time limit of a metric per answer. Default: an hour. */
  limitMs?: number | undefined;
  /** Called with notes on slow metrics. */
  onNote?: ((text: string) => void) | undefined;
}

/**
 * Scores answers one after another, so that a metric that calls a service makes one call at a time.
 * @throws KitError `METRIC_FAILED` naming the metric and the row, when a metric throws, returns no number
 * or never returns; the signal's reason
 */
export async function scoreAnswers(
  metrics: Metrics,
  answers: readonly Answered[],
  options: ScoreOptions = {},
): Promise<Scores> {
  const values = new Map<string, number>();
  const perAnswer = answers.map((): Record<string, number | undefined> => ({}));
  const add = (name: string, value: number) => {
    if (values.has(name)) throw metricFailed(`Two metrics have a value named ${name}. Rename one.`);
    values.set(name, value);
  };
  for (const [name, metric] of Object.entries(metrics)) {
    if (!isPerAnswer(metric)) {
      for (const [suffix, value] of Object.entries(aggregateValues(name, metric, answers))) {
        add(name + suffix, value);
      }
      continue;
    }
    const scores: number[] = [];
    for (const [i, answered] of answers.entries()) {
      const score = await scoreOf(name, metric, answered, { row: i + 1, ...options });
      perAnswer[i]![name] = score;
      if (score !== undefined) scores.push(score);
    }
    if (scores.length > 0) add(name, meanOf(scores));
  }
  return { values: Object.fromEntries(values), perAnswer };
}

export function isPerAnswer(metric: Metric): metric is ScoreAnswer {
  return typeof metric === "function";
}

/** Whether metrics may have a value of this name; an aggregate metric's names begin with its own. */
export function mayHaveValue(metrics: Metrics, valueName: string): boolean {
  return Object.entries(metrics).some(([name, metric]) =>
    isPerAnswer(metric)
      ? valueName === name || (metric.parts !== undefined && valueName.startsWith(`${name}.`))
      : valueName.startsWith(name),
  );
}

export function meanOf(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0) / values.length;
}

/** An aggregate metric's values by name suffix. @throws KitError `METRIC_FAILED` */
export function aggregateValues(
  name: string,
  metric: AggregateMetric,
  answers: readonly Answered[],
): Record<string, number> {
  const subject = "all answers";
  let found: unknown;
  try {
    found = metric.compute(answers);
  } catch (cause) {
    throw metricThrew(name, subject, cause);
  }
  if (!isRecord(found)) throw notANumber(name, subject, found);
  return Object.fromEntries(
    Object.entries(found).map(([suffix, value]) => [suffix, finite(value, name + suffix, subject)]),
  );
}

async function scoreOf(
  name: string,
  metric: ScoreAnswer,
  answered: Answered,
  { row, signal, limitMs, onNote }: { row: number } & ScoreOptions,
): Promise<number | undefined> {
  const subject = rowLabel(answered, row);
  const waiting = setInterval(
    () => onNote?.(`waiting for the metric ${name} on ${subject}`),
    NOTE_MS,
  );
  waiting.unref();
  const scored = (async (): Promise<unknown> => metric(answered))().catch((cause: unknown) => {
    throw metricThrew(name, subject, cause);
  });
  const neverReturned = () =>
    metricFailed(
      `The metric ${name} never returned for ${subject}. Look for a promise in it that does not settle.`,
    );
  const settled = orStuck(scored, neverReturned, limitMs);
  const result = await (signal ? orAborted(settled, signal) : settled).finally(() =>
    clearInterval(waiting),
  );
  const value = isRecord(result) && "score" in result ? result.score : result;
  // Scorers of autoevals return null for no score.
  if (value === null) return undefined;
  return finite(typeof value === "boolean" ? Number(value) : value, name, subject);
}

function finite(value: unknown, name: string, subject: string): number {
  if (typeof value === "number" && Math.abs(value) <= MAX_VALUE) return value;
  throw notANumber(name, subject, value);
}

function notANumber(name: string, subject: string, value: unknown): KitError {
  const found = inspect(value, { depth: 1, maxStringLength: SHOWN_LENGTH, breakLength: Infinity });
  const limit = Number.isFinite(value) ? ` up to ${MAX_VALUE}` : "";
  return metricFailed(
    `The metric ${name} returned ${found} for ${subject}. Make it return a number${limit}, true or false.`,
  );
}

function metricThrew(name: string, subject: string, cause: unknown): KitError {
  const error = asError(cause);
  const message = withLocation(messageOf(error) || `${error.name} without a message`, error);
  return metricFailed(`The metric ${name} failed on ${subject}: ${message}`, cause);
}

function metricFailed(message: string, cause?: unknown): KitError {
  return new KitError("METRIC_FAILED", message, cause === undefined ? {} : { cause });
}

/** A row's name in errors. */
function rowLabel({ input }: Answered, row: number): string {
  const start = input.length > SHOWN_LENGTH ? `${input.slice(0, SHOWN_LENGTH)}…` : input;
  return `row ${row}, ${JSON.stringify(start)}`;
}
