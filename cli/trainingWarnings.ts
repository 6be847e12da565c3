import type { EventData } from "../protocol/event.ts";
import { formatCounted } from "../protocol/format.ts";
import { type TrainConfig, rowsPerStep } from "../protocol/trainConfig.ts";

/** Warnings about sizes that do not fit each other, known once the rows are counted. */
export function trainingWarnings(
  config: TrainConfig,
  { maxSteps: steps, epochs = 0 }: EventData["training.started"],
): string[] {
  const { warmupSteps, learningRate, gradientAccumulationSteps } = config;
  const warnings: string[] = [];
  if (warmupSteps > steps) {
    warnings.push(
      `warning: the training has ${formatCounted(steps, "step")}, but warmupSteps is ${warmupSteps}`,
      `  lower it to reach the learning rate of ${learningRate}`,
    );
  }
  // By the passes, not by the rows: a long text is several pieces.
  if (epochs > steps) {
    const sizes =
      gradientAccumulationSteps > 1 ? "batchSize or gradientAccumulationSteps" : "batchSize";
    warnings.push(
      `warning: a step takes ${rowsPerStep(config)} rows, more than there are, and repeats some`,
      `  lower ${sizes}, or add rows`,
    );
  }
  return warnings;
}
