import { isLower } from "../../protocol/evaluation.ts";
import { formatCount, formatDuration } from "../../protocol/format.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { type JobStatus, isFinal } from "../../protocol/job.ts";
import { type Moment, secondsLeft } from "../../protocol/pace.ts";

/** How far a job is, as its events say; what they have not said yet is undefined. */
export interface JobProgress {
  /** Steps of the whole job. */
  steps?: number;
  startedAt?: number;
  /** The pace is measured from the first log on, because the first step also warms up. */
  first?: Moment;
  last?: Moment;
  /** Time of the last event, in ms since 1970. */
  at?: number;
  tokensPerSecond?: number;
  learningRate?: number;
  evalLoss?: number;
  bestEvalLoss?: number;
  /** The last of each, by name. */
  metrics?: Record<string, number>;
}

/** A fact about a job in words; the value is a dash while it is unknown. */
export type Fact = [name: string, value: string];

const UNKNOWN = "–";

/** The progress after an event at a time in ms since 1970 with this data. Pure. */
export function advanceProgress(
  before: JobProgress,
  { event, at }: { event: string; at: number },
  data: Record<string, unknown>,
): JobProgress {
  const after = isNumber(at) ? { ...before, at } : { ...before };
  if (event === "training.started") {
    after.startedAt = after.at;
    const best = isRecord(data.resumedBest) ? data.resumedBest.evalLoss : undefined;
    return keep(after, { steps: data.maxSteps, bestEvalLoss: best });
  }
  if (event !== "training.log") return after;
  const { step, learningRate, tokensPerSecond, evalLoss } = numbersIn(data);
  if (step !== undefined && after.at !== undefined) {
    after.last = { step, at: after.at };
    after.first ??= after.last;
  }
  if (isLower(evalLoss, before.bestEvalLoss)) after.bestEvalLoss = evalLoss;
  const metrics = { ...before.metrics, ...numbersIn(data.metrics) };
  if (Object.keys(metrics).length > 0) after.metrics = metrics;
  return keep(after, { learningRate, tokensPerSecond, evalLoss });
}

/** The numbers among `found` replace what was known. */
function keep(progress: JobProgress, found: Partial<Record<keyof JobProgress, unknown>>) {
  return { ...progress, ...numbersIn(found) };
}

export function numbersIn(found: unknown): Record<string, number> {
  const entries = Object.entries(isRecord(found) ? found : {});
  return Object.fromEntries(
    entries.filter((entry): entry is [string, number] => isNumber(entry[1])),
  );
}

/**
 * The same facts in the same places, from a job's first event to its last, then the metrics that its
 * logs have. Pure.
 */
export function factsOf(progress: JobProgress, status: JobStatus | undefined): Fact[] {
  const { steps, startedAt, at, first, last, metrics = {} } = progress;
  const elapsed = startedAt !== undefined && at !== undefined ? (at - startedAt) / 1000 : undefined;
  const left = status && isFinal(status) ? undefined : secondsLeft(first, last, steps);
  const best = say(progress.bestEvalLoss, formatNumber);
  return [
    ["step", say(last?.step, (step) => `${formatCount(step)} of ${say(steps, formatCount)}`)],
    ["elapsed", say(elapsed, formatDuration)],
    ["time left", say(left, formatDuration)],
    ["tokens a second", say(progress.tokensPerSecond, (speed) => formatCount(Math.round(speed)))],
    ["learning rate", say(progress.learningRate, formatNumber)],
    ["evalLoss", say(progress.evalLoss, (loss) => `${formatNumber(loss)}, best ${best}`)],
    ...Object.entries(metrics).map(([name, value]): Fact => [name, formatNumber(value)]),
  ];
}

function say<T>(value: T | undefined, inWords: (value: T) => string): string {
  return value === undefined ? UNKNOWN : inWords(value);
}

/** Four digits: `0.001234`, `1.234`, `1.23e-7`. */
export function formatNumber(value: number): string {
  return String(Number(value.toPrecision(4)));
}

function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}
