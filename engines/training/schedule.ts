import { type TrainConfig, rowsPerStep } from "../../protocol/trainConfig.ts";
import constants from "../constants.json" with { type: "json" };

type Length = Pick<
  TrainConfig,
  "maxSteps" | "numTrainEpochs" | "batchSize" | "gradientAccumulationSteps"
>;

/** Optimizer steps in all. @param rows of one pass over the dataset */
export function stepCount(config: Length, rows: number): number {
  if (config.numTrainEpochs === undefined) return config.maxSteps ?? 0;
  return Math.max(1, Math.ceil((config.numTrainEpochs * rows) / rowsPerStep(config)));
}

/** Number of steps that warm up. @param warmupSteps a count, or a share below 1 */
function warmupCount(warmupSteps: number, steps: number): number {
  return warmupSteps < 1 ? Math.ceil(warmupSteps * steps) : warmupSteps;
}

/** The cosine falls to this share of the peak. */
const FLOOR = constants.cosineFloor;

/** The share of the peak after the warm-up, by how far the rest has come: from 0 to 1. */
const FALL: Record<TrainConfig["lrSchedulerType"], (share: number) => number> = {
  cosine: (share) => FLOOR + ((1 - FLOOR) * (1 + Math.cos(Math.PI * share))) / 2,
  linear: (share) => 1 - share,
  constant: () => 1,
};

/**
 * Learning rate of a step, counted from 1: linear warm-up to the peak, then as `lrSchedulerType` says.
 * The last step has the cosine's tenth; a line reaches 0 one step later, so that no step is in vain.
 * @param steps in all
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
