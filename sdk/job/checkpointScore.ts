import { heldOutValue, isLogged } from "../../protocol/evaluation.ts";
import type { JobEvent } from "../../protocol/event.ts";
import type { JobConfig } from "../../protocol/trainConfig.ts";
import type { JobArguments } from "../../protocol/trainerOptions.ts";

/** How good a step's model is, by the job's metric for its best checkpoint. */
export interface CheckpointScore {
  step: number;
  /** Finite; higher is better, whichever way the metric goes. */
  score: number;
}

/** @returns an event's score; undefined if it has none */
export type Scorer = (event: JobEvent) => CheckpointScore | undefined;

export function createScorer({
  metricForBestModel: name,
  greaterIsBetter,
}: Pick<JobArguments, "metricForBestModel" | "greaterIsBetter">): Scorer {
  return ({ event, data }) => {
    const value =
      event === "training.log"
        ? heldOutValue(data, name)
        : event === "checkpoint.evaluated"
          ? data.metrics[name]
          : undefined;
    if (typeof value !== "number" || !Number.isFinite(value) || !("step" in data)) return undefined;
    return { step: data.step, score: greaterIsBetter ? value : -value };
  };
}

/** The highest score; of equal ones, the first. Undefined if there are none. */
export function bestScore(scores: readonly CheckpointScore[]): CheckpointScore | undefined {
  let best: CheckpointScore | undefined;
  for (const score of scores) if (!best || score.score > best.score) best = score;
  return best;
}

/** The metrics of a job's `evaluate` where lower is better. */
export function lowerIsBetter(config: JobConfig): string[] {
  const { greaterIsBetter, metricForBestModel, objective } = config;
  return greaterIsBetter || isLogged(metricForBestModel, objective) ? [] : [metricForBestModel];
}

/** Notes once that the held-out rows lack the job's metric, so that no checkpoint can be the best. */
export function createMissingMetricNote(
  { metricForBestModel: name, objective }: Pick<JobConfig, "metricForBestModel" | "objective">,
  onNote: (text: string) => void,
): (event: JobEvent) => void {
  let hasNoted = !isLogged(name, objective);
  return ({ event, data }) => {
    if (hasNoted || event !== "training.log" || data.evalLoss === undefined) return;
    if (heldOutValue(data, name) !== undefined) return;
    hasNoted = true;
    onNote(
      `warning: the held-out rows have no "${name}", which compares desirable answers with undesirable ones. Hold out both kinds, or choose another metricForBestModel`,
    );
  };
}
