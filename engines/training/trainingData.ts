import type { TrainConfig } from "../../protocol/trainConfig.ts";
import { heldOutRows } from "../dataset/heldOut.ts";
import { type ExampleSet, digestOf } from "../examples/examples.ts";
import type { InspectedRow, Inspection } from "./inspection.ts";
import { type ReadOptions, type TokenizedDataset, readDataset } from "./tokenizedDataset.ts";

/** The rows that a training learns from, and those it is evaluated on. */
export interface TrainingData {
  dataset: TokenizedDataset;
  /** Identifies all rows of `dataset`. */
  fingerprint: string;
  /** The rows to train on, without those set aside. */
  training: Rows;
  /** The rows to evaluate on; for an `evalDataset`, also how many are cut and left out. */
  evaluation?: Rows & Partial<Pick<TokenizedDataset, "cut" | "leftOut">> & { fingerprint: string };
}

interface Rows {
  rows: number;
  examples: ExampleSet;
}

/**
 * @param maxLength of a row, in tokens
 * @throws as `readDataset` and `heldOutRows`
 */
export function readTrainingData(
  { dataset: { path }, evalDataset, evalSplit, seed }: TrainConfig,
  maxLength: number,
  { inspection, ...options }: Omit<ReadOptions, "onRow"> & { inspection?: Inspection | undefined },
): TrainingData {
  const seen = (isHeldOut: boolean) =>
    inspection && ((row: InspectedRow) => inspection.see(row, isHeldOut));
  const dataset = readDataset(path, maxLength, { ...options, onRow: seen(false) });
  const fingerprint = dataset.examples.fingerprint();
  const all = { dataset, fingerprint, training: dataset };
  if (evalDataset) {
    const heldOut = readDataset(evalDataset.path, maxLength, { ...options, onRow: seen(true) });
    return { ...all, evaluation: { ...heldOut, fingerprint: heldOut.examples.fingerprint() } };
  }
  if (evalSplit === undefined) return all;
  const isHeldOut = heldOutRows(dataset.rows, evalSplit, seed);
  const part = (mark: number) => ({
    rows: isHeldOut.reduce((count, one) => count + (one === mark ? 1 : 0), 0),
    examples: dataset.examples.ofRows((row) => isHeldOut[row] === mark),
  });
  const evaluation = { ...part(1), fingerprint: digestOf([fingerprint, isHeldOut]) };
  return { ...all, training: part(0), evaluation };
}
