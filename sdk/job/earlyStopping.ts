import type { MetricEvent } from "../../jobs/metricEvents.ts";
import { heldOutValue, isLogged } from "../../protocol/evaluation.ts";
import { type JobEvent, EVALUATED } from "../../protocol/event.ts";
import type { JobConfig } from "../../protocol/trainConfig.ts";
import { createScorer } from "./checkpointScore.ts";

/** Stops a run that no longer improves, with any engine, by aborting it. */
export interface EarlyStopping {
  /**
   * Handles each event.
   * @returns whether training ends with it; later events don't count
   */
  onEvent: (event: JobEvent) => boolean;
  /** Restores the evaluations up to the checkpoint that a run continues. */
  resume: (evaluations: readonly MetricEvent[], maxSteps: number) => void;
  /** The last step, once stopped. */
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
  let sinceBest = 0;
  /** The step at which patience ran out. */
  let stopStep: number | undefined;
  let isOver = false;

  /** @param score undefined for a non-finite value, which is never the best */
  function recordScore(step: number, score: number | undefined): void {
    const isBest = score !== undefined && score > (best ?? -Infinity);
    if (isBest) best = score;
    sinceBest = isBest ? 0 : sinceBest + 1;
    stopStep = sinceBest >= patience ? step : undefined;
  }

  /** @returns whether the event is an evaluation before the last step */
  function recordEvent(jobEvent: JobEvent): boolean {
    const { event, data } = jobEvent;
    const isEvaluated =
      event === "training.log" && heldOutValue(data, metric.metricForBestModel) !== undefined;
    const isRelevant = isInLog ? isEvaluated : event === EVALUATED;
    if (isOver || !isRelevant || !("step" in data) || data.step >= steps) return false;
    recordScore(data.step, scoreOf(jobEvent)?.score);
    return true;
  }

  function resume(evaluations: readonly MetricEvent[], maxSteps: number): void {
    steps = maxSteps;
    // Evaluations from before the metric existed don't count.
    evaluations.filter((past) => past.event !== EVALUATED || scoreOf(past)).forEach(recordEvent);
    isOver = stopStep !== undefined;
  }

  function onEvent(jobEvent: JobEvent): boolean {
    const { event, data } = jobEvent;
    if (event === "training.started") steps = data.maxSteps;
    // Otherwise wait until the step's checkpoint is saved.
    if (recordEvent(jobEvent)) {
      isOver = stopStep !== undefined && (event === EVALUATED || stopStep % saveSteps !== 0);
    }
    if (event === "checkpoint.saved" && stopStep !== undefined) isOver ||= data.step === stopStep;
    return isOver;
  }

  return { onEvent, resume, stoppedAt: () => (isOver ? stopStep : undefined) };
}
