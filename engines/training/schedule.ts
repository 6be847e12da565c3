import { type TrainConfig, rowsPerStep } from "../../protocol/trainConfig.ts";
import constants from "../constants.json" with { type: "json" };

type RunLength = Pick<
  TrainConfig,
  "maxSteps" | "numTrainEpochs" | "batchSize" | "gradientAccumulationSteps"
>;

/** Total optimizer steps. @param rows of one epoch */
export function stepCount(config: RunLength, rows: number): number {
  if (config.numTrainEpochs === undefined) return config.maxSteps ?? 0;
  return Math.max(1, Math.ceil((config.numTrainEpochs * rows) / rowsPerStep(config)));
}

/** Number of warm-up steps. @param warmupSteps a count, or a fraction below 1 */
function warmupCount(warmupSteps: number, steps: number): number {
  return warmupSteps < 1 ? Math.ceil(warmupSteps * steps) : warmupSteps;
}

/** The fraction of the peak to which the cosine decays. */
const FLOOR = constants.cosineFloor;

/** Fraction of the peak, by the progress from the end of warm-up, 0, to the last step, 1. */
const DECAYS: Record<TrainConfig["lrSchedulerType"], (progress: number) => number> = {
  cosine: (progress) => FLOOR + ((1 - FLOOR) * (1 + Math.cos(Math.PI * progress))) / 2,
  linear: (progress) => 1 - progress,
  constant: () => 1,
};

/**
 * Learning rate of a step, counted from 1: linear warm-up to the peak, then decay by `lrSchedulerType`. The last step
 * has the cosine's floor. A linear decay would reach 0 one step later, because a step at rate 0 would be wasted.
 * @param steps total
 */
export function learningRate(
  step: number,
  steps: number,
  config: Pick<TrainConfig, "learningRate" | "warmupSteps" | "lrSchedulerType">,
): number {
  const { learningRate: peak, lrSchedulerType } = config;
  const warmup = warmupCount(config.warmupSteps, steps);
  if (step < warmup) return (peak * step) / warmup;
  const isLinear = lrSchedulerType === "linear";
  const from = isLinear ? Math.max(1, warmup) : warmup;
  const end = isLinear ? steps + 1 : steps;
  const progress = Math.min(1, (step - from) / Math.max(1, end - from));
  return peak * DECAYS[lrSchedulerType](progress);
}
