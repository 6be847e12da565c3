import type { EventData } from "../../protocol/event.ts";
import { formatCount, formatCounted } from "../../protocol/format.ts";
import { type TrainConfig, rowsPerStep } from "../../protocol/trainConfig.ts";

/** Fewer rows are too few to learn a task. */
const FEW_ROWS = 100;
const MANY_EPOCHS = 100;
/** Fewer rows are surely a mistake. */
const TINY_ROWS = 5;
const MANY_EPOCHS_OF_TINY = 20;

/** Warnings about sizes that don't fit each other. */
export function trainingWarnings(
  config: TrainConfig,
  { maxSteps: steps, epochs = 0, rows = Infinity }: EventData["training.started"],
): string[] {
  const { warmupSteps, learningRate, gradientAccumulationSteps } = config;
  const warnings: string[] = [];
  if (warmupSteps > steps) {
    warnings.push(
      `warning: training takes ${formatCounted(steps, "step")}, but warmupSteps is ${warmupSteps}`,
      `  lower it to reach the learning rate of ${learningRate}`,
    );
  }
  if (rows < FEW_ROWS && epochs > (rows < TINY_ROWS ? MANY_EPOCHS_OF_TINY : MANY_EPOCHS)) {
    const [there, them] =
      rows === 1 ? ["is a single row", "it"] : [`are only ${rows} rows`, "them"];
    const times = formatCount(Math.round(epochs));
    warnings.push(
      `warning: there ${there}, and training repeats ${them} ${times} times, so the model memorizes ${them}`,
      "  add rows (a task takes a hundred or more), or train for fewer steps",
    );
  }
  // Compare epochs, not rows: a long text is split into several chunks.
  if (epochs > steps) {
    const sizes =
      gradientAccumulationSteps > 1 ? "batchSize or gradientAccumulationSteps" : "batchSize";
    warnings.push(
      `warning: a step takes ${rowsPerStep(config)} rows, more than there are, so some repeat`,
      `  lower ${sizes}, or add rows`,
    );
  }
  return warnings;
}

/** Warnings about truncated or skipped rows, for training and evaluation. */
export function lostRowWarnings(data: EventData["training.started"]): string[] {
  const {
    rows,
    cut,
    leftOut,
    evalRows = 0,
    evalCut,
    evalLeftOut,
    maxLength,
    keepLeftOut: advice,
  } = data;
  const limit =
    maxLength === undefined
      ? "maxLength or the model's context"
      : formatCounted(maxLength, "token");
  const keep = advice ? `\n  to keep them: ${advice}` : "";
  return [
    ...warningOf({ rows, cut, leftOut }, "row", limit).map((warning) => warning + keep),
    ...warningOf({ rows: evalRows, cut: evalCut, leftOut: evalLeftOut }, "held-out row", limit),
  ];
}

interface Counts {
  /** Without the skipped ones. */
  rows: number;
  cut: number | undefined;
  leftOut: number | undefined;
}

function warningOf({ rows, cut = 0, leftOut = 0 }: Counts, noun: string, limit: string): string[] {
  const of = `of ${formatCounted(rows + leftOut, noun)}`;
  if (leftOut === 0) {
    return cut === 0 ? [] : [`warning: ${formatCount(cut)} ${of} truncated to ${limit}`];
  }
  const truncated = cut === 0 ? "" : `; ${formatCount(cut)} truncated`;
  return [
    `warning: ${formatCount(leftOut)} ${of} skipped: the prompt leaves no room for an answer in ${limit}${truncated}`,
  ];
}
