import type { TrainOptions } from "../../../protocol/engine.ts";
import type { TrainConfig } from "../../../protocol/trainConfig.ts";
import { heldOutRows } from "../../dataset/heldOut.ts";
import type { ExampleSet } from "../../llama/examples.ts";
import { type TokenizedDataset, readDataset } from "../../llama/tokenizedDataset.ts";

/** The rows that a training learns from, and those it is evaluated on. */
export interface TrainingData {
  dataset: TokenizedDataset;
  /** Without those that are set aside. */
  training: { rows: number; examples: ExampleSet };
  evaluation?: { rows: number; examples: ExampleSet };
}

/**
 * @param maxLength of a row, in tokens
 * @throws as `readDataset` and `heldOutRows`
 */
export function readTrainingData(
  { dataset: { path }, evalDataset, evalSplit, seed }: TrainConfig,
  maxLength: number,
  { onNote }: Pick<TrainOptions, "onNote">,
): TrainingData {
  const dataset = readDataset(path, maxLength, { onNote });
  const training = dataset;
  if (evalDataset) {
    const evaluation = readDataset(evalDataset.path, maxLength, { onNote });
    return { dataset, training, evaluation };
  }
  if (evalSplit === undefined) return { dataset, training };
  const isHeldOut = heldOutRows(dataset.rows, evalSplit, seed);
  const part = (mark: number) => ({
    rows: isHeldOut.reduce((count, one) => count + (one === mark ? 1 : 0), 0),
    examples: dataset.examples.ofRows((row) => isHeldOut[row] === mark),
  });
  return { dataset, training: part(0), evaluation: part(1) };
}
