import type { EventData } from "../../protocol/event.ts";
import { formatCount, formatCounted } from "../../protocol/format.ts";
import { type TrainConfig, rowsPerStep } from "../../protocol/trainConfig.ts";

/** Too few rows to learn a task from, below this. */
const FEW = 100;
const MANY_PASSES = 100;
/** Nobody means these few. */
const HANDFUL = 5;
const MANY_PASSES_OF_HANDFUL = 20;

/** Warnings about sizes that do not fit each other, known once the rows are counted. */
export function trainingWarnings(
  config: TrainConfig,
  { maxSteps: steps, epochs = 0, rows = Infinity }: EventData["training.started"],
): string[] {
  const { warmupSteps, learningRate, gradientAccumulationSteps } = config;
  const warnings: string[] = [];
  if (warmupSteps > steps) {
    warnings.push(
      `warning: the training has ${formatCounted(steps, "step")}, but warmupSteps is ${warmupSteps}`,
      `  lower it to reach the learning rate of ${learningRate}`,
    );
  }
  if (rows < FEW && epochs > (rows < HANDFUL ? MANY_PASSES_OF_HANDFUL : MANY_PASSES)) {
    const [there, them] =
      rows === 1 ? ["is a single row", "it"] : [`are only ${rows} rows`, "them"];
    const times = formatCount(Math.round(epochs));
    warnings.push(
      `warning: there ${there}, and the training repeats ${them} ${times} times, which teaches the model nothing else`,
      "  add rows: a task takes a hundred or more; or train for fewer steps",
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

/** Warnings about rows that are cut or left out, to train or to evaluate on. */
export function lostRows(data: EventData["training.started"]): string[] {
  const { rows, cut, leftOut, evalRows = 0, evalCut, evalLeftOut, maxLength, keepLeftOut } = data;
  const limit =
    maxLength === undefined
      ? "maxLength or the model's context"
      : formatCounted(maxLength, "token");
  const keep = keepLeftOut ? `\n  to keep them: ${keepLeftOut}` : "";
  return [
    ...warningOf({ rows, cut, leftOut }, "row", limit).map((warning) => warning + keep),
    ...warningOf({ rows: evalRows, cut: evalCut, leftOut: evalLeftOut }, "held-out row", limit),
  ];
}

interface Rows {
  /** Without those that are left out. */
  rows: number;
  cut: number | undefined;
  leftOut: number | undefined;
}

function warningOf({ rows, cut = 0, leftOut = 0 }: Rows, noun: string, limit: string): string[] {
  const of = `of ${formatCounted(rows + leftOut, noun)}`;
  if (leftOut === 0) {
    return cut === 0 ? [] : [`warning: ${formatCount(cut)} ${of} cut to ${limit}`];
  }
  const truncated = cut === 0 ? "" : `; ${formatCount(cut)} cut`;
  return [`warning: ${formatCount(leftOut)} ${of} left out: no answer fits ${limit}${truncated}`];
}
