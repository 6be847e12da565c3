import { type Evaluation, betterHeldOut, heldOutValues, isLower } from "./evaluation.ts";
import { type MetricHistory, type StepValue, withValue } from "./history.ts";
import { isRecord, numbersIn } from "./isRecord.ts";
import { type LossEnds, NO_LOSSES, addLoss } from "./lossEnds.ts";
import type { Better } from "./objective.ts";
import { type Span, asleepIn } from "./sleep.ts";

/** A GPU's first steps compile and load kernels, and are up to a hundred times slower. */
const WARM_UP_MS = 5_000;

/** A job's state derived from its events so far; unknown fields are undefined. */
export interface Progress {
  /** Steps of the whole job. */
  steps?: number;
  /** Start of training, or of the evaluation before it. */
  startedAt?: number;
  /** Log from which the pace is measured: the first, or the second after a warm-up. */
  first?: Moment;
  last?: Moment;
  /** Events since the last log. */
  work?: string[];
  /** The last two spans between logs, by their work. */
  spans?: Record<string, [Span | undefined, Span]>;
  /** Time of the last event. */
  at?: number;
  /** How far the clock was set back since the first event, in ms. */
  setBack?: number;
  /** Last finite loss. */
  loss?: number;
  lossEnds: LossEnds;
  learningRate?: number;
  tokensPerSecond?: number;
  evalLoss?: number;
  best?: Evaluation;
  /** Last values by name. */
  metrics?: Record<string, number>;
  /** Metrics of `evaluate` by name. */
  evaluated?: Record<string, MetricProgress>;
  /** Held-out metrics over the run, by name. */
  histories?: Record<string, MetricHistory>;
  /** Progress of the current evaluation. */
  evaluating?: { answered: number; rows: number; secondsLeft: number | undefined; at: number };
  /** What the engine does besides training, in words, and since when: a download, or a save. */
  doing?: { words: string; since: number } | undefined;
  /** Step of the newest checkpoint. */
  savedStep?: number;
  /** The job that this one resumes, and the step of its checkpoint. */
  resumed?: { jobId: string; step: number };
  /** Number of artifacts, once completed. */
  artifacts?: number;
}

/** A metric's latest value, its value before training, and its best. */
export interface MetricProgress {
  now: number;
  before: number | undefined;
  best: number;
  /** The step of the best; 0 is the model before training. */
  bestStep: number;
}

export const NO_PROGRESS: Progress = { lossEnds: NO_LOSSES };

/** A logged event, possibly of another Kit version. */
interface LoggedEvent {
  event: string;
  data: unknown;
  /** In ms, by any clock; NaN if unknown. */
  at: number;
}

/** Pure. */
export function reduceProgress(before: Progress, { event, data, at }: LoggedEvent): Progress {
  const fields = isRecord(data) ? data : {};
  const { setBack = 0 } = before;
  const after = { ...before, ...numbersIn({ at: at + setBack }) };
  if (after.at! < before.at!) {
    after.setBack = setBack + before.at! - after.at!;
    after.at = before.at!;
  }
  // An evaluation during training does not end what the engine is doing.
  const isConcurrent = event.startsWith("checkpoint.evaluat") && before.steps !== undefined;
  if (!isConcurrent) after.doing = undefined;
  if (event === "training.started") {
    const { step = NaN, evalLoss } = numbersIn(fields.resumedBest);
    if (evalLoss !== undefined) after.best = { step, evalLoss };
    const { resumedEvaluations: earlier } = fields;
    const measured: unknown[] = Array.isArray(earlier) ? earlier : [fields.resumedBest];
    for (const evaluation of measured) addHeldOut(after, evaluation);
    const { resumedFrom: jobId } = fields;
    if (typeof jobId === "string") {
      after.resumed = { jobId, step: numbersIn(fields).resumedStep ?? 0 };
    }
    const startedAt = before.evaluating ? before.startedAt : after.at;
    return { ...after, ...numbersIn({ startedAt, steps: fields.maxSteps }) };
  }
  if (event === "training.log") addLog(after, fields);
  else after.work = [...new Set(before.work).add(event)];
  if (event === "training.preparing" && typeof fields.doing === "string") {
    after.doing = { words: fields.doing, since: before.doing?.since ?? after.at ?? NaN };
  }
  if (event === "checkpoint.evaluating") {
    after.startedAt ??= after.at;
    const { answered = 0, rows = 0, secondsLeft } = numbersIn(fields);
    after.evaluating = { answered, rows, secondsLeft, at: after.at ?? NaN };
  }
  if (event === "checkpoint.saved") after.savedStep = numbersIn(fields).step;
  if (event === "checkpoint.evaluated") addEvaluated(after, fields);
  if (event === "training.completed" && Array.isArray(fields.artifacts)) {
    after.artifacts = fields.artifacts.length + (numbersIn(fields).omitted ?? 0);
  }
  return after;
}

function addEvaluated(after: Progress, fields: Record<string, unknown>): void {
  const evaluated = { ...after.evaluated };
  const { step = NaN, rows } = numbersIn(fields);
  const lowerIsBetter = String(fields.lowerIsBetter).split(",");
  for (const [name, now] of Object.entries(numbersIn(fields.metrics))) {
    const better = lowerIsBetter.includes(name) ? "lower" : "higher";
    const { best } = addToHistory(after, name, { step, value: now }, better, rows);
    const before = step > 0 ? evaluated[name]?.before : now;
    evaluated[name] = { now, before, best: best!.value, bestStep: best!.step };
  }
  after.evaluated = evaluated;
}

function addHeldOut(after: Progress, data: unknown): void {
  const { step = NaN } = numbersIn(data);
  for (const [name, value] of Object.entries(heldOutValues(data))) {
    addToHistory(after, name, { step, value }, betterHeldOut(name));
  }
}

function addToHistory(
  after: Progress,
  name: string,
  point: StepValue,
  better: Better | undefined,
  rows?: number,
): MetricHistory {
  const { histories = {} } = after;
  const before = Object.hasOwn(histories, name) ? histories[name] : undefined;
  const history = { ...withValue(before, point, better), rows };
  after.histories = { ...histories, [name]: history };
  return history;
}

function addLog(after: Progress, fields: Record<string, unknown>): void {
  const { step = NaN, loss, learningRate, tokensPerSecond, evalLoss } = numbersIn(fields);
  const metrics = { ...after.metrics, ...numbersIn(fields.metrics) };
  Object.assign(after, numbersIn({ loss, learningRate, tokensPerSecond, evalLoss }));
  const { at } = after;
  if (at !== undefined && step >= 0) {
    const { first, last } = after;
    if (last && step > last.step) {
      const kind = [...(after.work ?? []), evalLoss !== undefined].join(" ");
      leaveOutSleep(after, kind, { ms: at - last.at, steps: step - last.step });
    }
    after.work = [];
    const isSecond = first && first === last && step === first.step + 1;
    after.last = { step, at };
    const isWarmingUp = isSecond && step !== after.steps && at - first.at < WARM_UP_MS;
    if (!first) after.first = after.last;
    // Copied, so that the next log is not taken for the second again.
    else if (isWarmingUp) after.first = { ...after.last };
  }
  if (loss !== undefined) after.lossEnds = addLoss(after.lossEnds, loss);
  if (isLower(evalLoss, after.best?.evalLoss)) after.best = { step, evalLoss };
  addHeldOut(after, fields);
  if (Object.keys(metrics).length > 0) after.metrics = metrics;
}

/** Moves the first log later by what the newest span, and now the one before it, show as sleep. */
function leaveOutSleep(after: Progress, kind: string, span: Span): void {
  const [earlier, before] = after.spans?.[kind] ?? [];
  const corrected = before ? asleepIn(before, earlier, span) - asleepIn(before, earlier) : 0;
  const { step, at } = after.first!;
  after.first = { step, at: at + corrected + asleepIn(span, before) };
  after.spans = { ...after.spans, [kind]: [before, span] };
}

/** The time of a logged step, in ms by any clock. */
export interface Moment {
  step: number;
  at: number;
}

/**
 * Estimates the seconds until the last step from the pace between two logs. Undefined until the pace is
 * known. Pure.
 * @param first the first log, because the time before it includes the warm-up
 */
export function secondsLeft(
  first: Moment | undefined,
  last: Moment | undefined,
  steps: number | undefined,
): number | undefined {
  if (!first || !last || steps === undefined || last.step <= first.step) return undefined;
  const secondsPerStep = (last.at - first.at) / 1000 / (last.step - first.step);
  return secondsPerStep * Math.max(0, steps - last.step);
}
