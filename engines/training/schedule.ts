import { type TrainConfig, rowsPerStep } from "../../protocol/trainConfig.ts";
import constants from "../constants.json" with { type: "json" };

type Length = Pick<
  TrainConfig,
  "maxSteps" | "numTrainEpochs" | "batchSize" | "gradientAccumulationSteps"
>;

/** Total optimizer steps. @param rows of one epoch */
export function stepCount(config: Length, rows: number): number {
  if (config.numTrainEpochs === undefined) return config.maxSteps ?? 0;
  return Math.max(1, Math.ceil((config.numTrainEpochs * rows) / rowsPerStep(config)));
}

/** Number of warm-up steps. @param warmupSteps a count, or a fraction below 1 */
function warmupCount(warmupSteps: number, steps: number): number {
  return warmupSteps < 1 ? Math.ceil(warmupSteps * steps) : warmupSteps;
}

/** Fraction of the peak that the cosine decays to. */
const FLOOR = constants.cosineFloor;

/** Fraction of the peak after warm-up, by the remaining steps' progress from 0 to 1. */
const FALL: Record<TrainConfig["lrSchedulerType"], (share: number) => number> = {
  cosine: (share) => FLOOR + ((1 - FLOOR) * (1 + Math.cos(Math.PI * share))) / 2,
  linear: (share) => 1 - share,
  constant: () => 1,
};

/**
 * StepContext rate of a step, counted from 1: linear warm-up to the peak, then decay by `lrSchedulerType`. The last step
 * has the cosine's floor; a linear decay reaches 0 one step later, so that no step is wasted.
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
  const isLine = lrSchedulerType === "linear";
  const from = isLine ? Math.max(1, warmup) : warmup;
  const end = isLine ? steps + 1 : steps;
  const share = Math.min(1, (step - from) / Math.max(1, end - from));
  return peak * FALL[lrSchedulerType](share);
}
