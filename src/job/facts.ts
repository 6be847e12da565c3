import { isHeldOut } from "../../protocol/evaluation.ts";
import {
  formatCount,
  formatCounted,
  formatDuration,
  formatMetricValue,
  formatNumber,
} from "../../protocol/format.ts";
import type { MetricHistory } from "../../protocol/history.ts";
import { type JobStatus, isFinal } from "../../protocol/job.ts";
import { type LossEnds, RISE_ADVICE, risenFrom } from "../../protocol/lossEnds.ts";
import { type Progress, secondsLeft } from "../../protocol/progress.ts";

/** A download that hasn't reported for this long is over. */
const DOWNLOAD_MS = 10_000;

/** A fact about a job in words. */
export interface Fact {
  name: string;
  value: string;
  /** Whether it takes a line of its own. */
  isLong?: boolean;
}

/**
 * A job's facts, in the order in which they become known, so that a new one doesn't move the others.
 * Pure.
 * @param sinceMs how long ago the last event came
 */
export function factsOf(progress: Progress, status: JobStatus | undefined, sinceMs = 0): Fact[] {
  const { steps, last, resumed, metrics = {}, histories = {} } = progress;
  const { startedAt = NaN, at = NaN } = progress;
  const elapsed = (at - startedAt + (isOver(status) ? 0 : sinceMs)) / 1000;
  const step = last?.step ?? (steps === undefined ? undefined : (resumed?.step ?? 0));
  const trainingMetrics = Object.entries(metrics).filter(([name]) => !isHeldOut(name));
  return [
    ...fact("elapsed", elapsed, formatDuration),
    ...fact("step", step, (done) => countOfTotal(done, steps)),
    ...fact("tokens/s", progress.tokensPerSecond, (speed) => formatCount(Math.round(speed))),
    ...fact("learning rate", progress.learningRate, formatNumber),
    ...trainingMetrics.flatMap(([name, value]) => fact(inWords(name), value, formatNumber)),
    ...Object.entries(histories).map(([name, history]) => ({
      // A project's own names stay unchanged.
      name: isHeldOut(name) ? inWords(name) : name,
      value: historyInWords(history, isHeldOut(name) ? formatNumber : formatMetricValue),
      isLong: true,
    })),
  ];
}

function fact<T>(name: string, value: T | undefined, inWords: (value: T) => string): Fact[] {
  const isKnown = value !== undefined && !Number.isNaN(value);
  return isKnown ? [{ name, value: inWords(value) }] : [];
}

/** Such as `0 → 0.26 → 0.68 of 30 rows, best at step 50`. */
function historyInWords(
  { points, count, best, rows }: MetricHistory,
  format: (value: number) => string,
): string {
  const values = points.flatMap(({ value, index }, n) => {
    const isAfterGap = n > 0 && index > points[n - 1]!.index + 1;
    return [...(isAfterGap ? ["…"] : []), format(value)];
  });
  // Not "1 of 30 rows", which would mean one row.
  const preposition = Number.isInteger(Number(values.at(-1))) ? "on" : "of";
  const ofRows = rows === undefined ? "" : ` ${preposition} ${formatCounted(rows, "row")}`;
  const when = best && best.step > 0 ? `at step ${formatCount(best.step)}` : "before training";
  return values.join(" → ") + ofRows + (best && count > 1 ? `, best ${when}` : "");
}

/** `evalRewardsMargins` → `eval rewards margins`. */
function inWords(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** Such as `31 of 100`. */
function countOfTotal(count: number, all: number | undefined): string {
  return all === undefined ? formatCount(count) : `${formatCount(count)} of ${formatCount(all)}`;
}

/**
 * What an unfinished job is doing now, such as `evaluating 31 of 100 held-out rows, 1m 20s left`; empty for a
 * finished one. Pure.
 * @param createdMs how long ago the job was created
 * @param sinceMs how long ago the last event came
 */
export function activityOf(
  progress: Progress,
  status: JobStatus | undefined,
  createdMs: number,
  sinceMs = 0,
): string {
  const { doing, evaluating, first, last, steps, savedStep, startedAt, at = NaN } = progress;
  const msSince = (then: number) => at - then + sinceMs;
  if (status === "queued") return "waiting for its turn";
  if (status !== "running") return "";
  if (evaluating && evaluating.answered < evaluating.rows) {
    const { answered, rows, secondsLeft: left } = evaluating;
    return withTimeLeft(
      `evaluating ${countOfTotal(answered, rows)} held-out rows`,
      left,
      msSince(evaluating.at),
    );
  }
  if (steps === undefined) {
    // A job may have been queued since its creation; the engine reports only once the job runs.
    const ms = doing ? msSince(doing.since) : createdMs;
    const words = (sinceMs < DOWNLOAD_MS && doing?.words) || "preparing";
    // From its first event on, the fact "elapsed" shows the time.
    return startedAt === undefined ? withTime(words, ms) : words;
  }
  if (doing) return withTime(doing.words, msSince(doing.since));
  if (last?.step === steps)
    return savedStep === steps ? "finishing" : `saving step ${countOfTotal(steps, undefined)}`;
  const left = secondsLeft(first, last, steps);
  return withTimeLeft(
    last ? "training" : "waiting for the first step",
    left,
    msSince(last?.at ?? NaN),
  );
}

function withTime(doing: string, ms: number): string {
  return ms >= 0 ? `${doing}, for ${formatDuration(ms / 1000)}` : doing;
}

/** @param sinceMs how long ago that much was left */
function withTimeLeft(doing: string, left: number | undefined, sinceMs: number): string {
  const now = (left ?? 0) - (sinceMs || 0) / 1000;
  return now < 0.5 ? doing : `${doing}, ${formatDuration(now)} left`;
}

function isOver(status: JobStatus | undefined): boolean {
  return status !== undefined && isFinal(status);
}

/** Advice for a run whose loss ended above its first; otherwise empty. Pure. */
export function adviceOn(losses: LossEnds): string {
  const first = risenFrom(losses);
  const last = losses.last.at(-1);
  if (first === undefined || last === undefined) return "";
  const [began, ended] = [first, last].map(formatNumber);
  const advice = RISE_ADVICE.replace(/^t/, "T");
  return `The loss ended at ${ended}, above the ${began} where it began. ${advice}.`;
}
