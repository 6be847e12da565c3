import { heldOutFigure } from "../../protocol/evaluation.ts";
import type { JobEvent } from "../../protocol/event.ts";
import type { JobArguments } from "../../protocol/trainerOptions.ts";

/** How good a step's model is, by the job's metric for its best checkpoint. */
export interface Measure {
  step: number;
  /** Finite, and the lower the better, whichever way the metric goes. */
  cost: number;
}

/** @returns an event's figure of the job's metric; undefined if it has none */
export type MeasureOf = (event: JobEvent) => Measure | undefined;

export function createCriterion({
  metricForBestModel: name,
  greaterIsBetter,
}: Pick<JobArguments, "metricForBestModel" | "greaterIsBetter">): MeasureOf {
  return ({ event, data }) => {
    const value =
      event === "training.log"
        ? heldOutFigure(data, name)
        : event === "checkpoint.evaluated"
          ? data.metrics[name]
          : undefined;
    if (typeof value !== "number" || !Number.isFinite(value) || !("step" in data)) return undefined;
    return { step: data.step, cost: greaterIsBetter ? -value : value };
  };
}

/** The first of the lowest cost; undefined without any. */
export function bestMeasure(measures: readonly Measure[]): Measure | undefined {
  let best: Measure | undefined;
  for (const one of measures) if (!best || one.cost < best.cost) best = one;
  return best;
}
