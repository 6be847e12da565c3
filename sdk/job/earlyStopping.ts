import type { MetricEvent } from "../../jobs/figures.ts";
import { heldOutFigure, isLogged } from "../../protocol/evaluation.ts";
import { type JobEvent, EVALUATED } from "../../protocol/event.ts";
import type { JobConfig } from "../../protocol/trainConfig.ts";
import { createScorer } from "./checkpointScore.ts";

/** Decides when a training no longer improves. Works for every engine, by aborting it. */
export interface EarlyStopping {
  /**
   * Takes each event.
   * @returns whether the training is over with it: later events don't count
   */
  onEvent: (event: JobEvent) => boolean;
  /** Takes what was evaluated up to the checkpoint that a training goes on from. */
  resume: (evaluations: readonly MetricEvent[], maxSteps: number) => void;
  /** The step that was the last; undefined as long as the training goes on. */
  stoppedAt: () => number | undefined;
}

type Config = Pick<
  JobConfig,
  "earlyStoppingPatience" | "saveSteps" | "metricForBestModel" | "greaterIsBetter" | "objective"
>;

export function createEarlyStopping({
  earlyStoppingPatience,
  saveSteps,
  objective,
  ...metric
}: Config): EarlyStopping {
  const scoreOf = createScorer(metric);
  const isInLog = isLogged(metric.metricForBestModel, objective);
  const patience = earlyStoppingPatience ?? Infinity;
  let steps = Infinity;
  let best: number | undefined;
  /** Evaluations since the best. */
  let waited = 0;
  let last: number | undefined;
  let isOver = false;

  /** @param score undefined for a non-finite figure, which is never the best */
  function recordScore(step: number, score: number | undefined): void {
    const isBest = score !== undefined && score > (best ?? -Infinity);
    if (isBest) best = score;
    waited = isBest ? 0 : waited + 1;
    last = waited >= patience ? step : undefined;
  }

  /** @returns whether it says how good the model is, before the last step */
  function recordEvent(jobEvent: JobEvent): boolean {
    const { event, data } = jobEvent;
    const isEvaluated =
      event === "training.log" && heldOutFigure(data, metric.metricForBestModel) !== undefined;
    const counts = isInLog ? isEvaluated : event === EVALUATED;
    if (isOver || !counts || !("step" in data) || data.step >= steps) return false;
    recordScore(data.step, scoreOf(jobEvent)?.score);
    return true;
  }

  function resume(evaluations: readonly MetricEvent[], maxSteps: number): void {
    steps = maxSteps;
    // One of before the metric came says nothing.
    evaluations.filter((one) => one.event !== EVALUATED || scoreOf(one)).forEach(recordEvent);
    isOver = last !== undefined;
  }

  function onEvent(jobEvent: JobEvent): boolean {
    const { event, data } = jobEvent;
    if (event === "training.started") steps = data.maxSteps;
    // Otherwise once the step's checkpoint is saved; one that was asked is.
    if (recordEvent(jobEvent)) {
      isOver = last !== undefined && (event === EVALUATED || last % saveSteps !== 0);
    }
    if (event === "checkpoint.saved" && last !== undefined) isOver ||= data.step === last;
    return isOver;
  }

  return { onEvent, resume, stoppedAt: () => (isOver ? last : undefined) };
}
