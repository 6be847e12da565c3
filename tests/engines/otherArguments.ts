import type { TrainingArguments } from "../../protocol/trainerOptions.ts";

/** Of each argument a value that is no default: an engine that does not read it trains otherwise. */
export const OTHER_ARGUMENTS: TrainingArguments = {
  batchSize: 3,
  gradientAccumulationSteps: 2,
  learningRate: 0.02,
  lrSchedulerType: "linear",
  warmupSteps: 1,
  weightDecay: 0.5,
  maxGradNorm: 0.05,
  loggingSteps: 2,
  saveSteps: 3,
  seed: 7,
};
