import type { DatasetRow } from "../../protocol/dataset.ts";
import type { LoadOptions } from "../../protocol/engine.ts";
import { KitError, messageOf } from "../../protocol/error.ts";
import type { HeldOutRows, HeldOutRowsOptions } from "../../protocol/metric.ts";
import { type TrainConfig, isPretrained } from "../../protocol/trainConfig.ts";
import { locateModel } from "../checkpoint/locateModel.ts";
import { sampleRows, heldOutRows } from "../dataset/heldOut.ts";
import { createRandom } from "../dataset/random.ts";
import { rowLimit } from "../dataset/rowLimit.ts";
import { objectiveOf } from "../objectives/objectives.ts";
import { answeredRows, answerTokenLimit, createAnswerReader } from "./learnedAnswers.ts";
import { findStartingPoint } from "./startingPoint.ts";
import { readDataset } from "./tokenizedDataset.ts";

/**
 * Samples held-out rows by the seed, from `evalDataset` or `evalSplit`.
 * @param config with materialized datasets
 * @throws KitError if reading fails; `OPTION_INVALID` for a split that only another engine can determine
 */
export async function chooseHeldOutRows(
  config: TrainConfig,
  { maxRows, isEvaluable, ...options }: HeldOutRowsOptions,
): Promise<HeldOutRows> {
  const { dataset, evalDataset, seed } = config;
  const isHeldOut = evalDataset ? () => true : await findSplit(config, options);
  const { path } = evalDataset ?? dataset;
  let [total, skipped] = [0, 0];
  for (const row of answeredRows(config, path, isHeldOut)) {
    if (isEvaluable(row)) total++;
    else skipped++;
  }
  const isChosen = sampleRows(total, Math.min(maxRows, total), createRandom(seed, "asked"));
  const rows: DatasetRow[] = [];
  let index = 0;
  for (const row of answeredRows(config, path, isHeldOut)) {
    if (isEvaluable(row) && isChosen[index++] === 1) rows.push(row);
  }
  const reader = await createAnswerReader(config, options);
  return { rows, total, skipped, maxTokens: answerTokenLimit(rows, reader), endOf: reader.endOf };
}

/** Finds the rows that `evalSplit` sets aside. It counts only the rows short enough to train on. */
async function findSplit(
  config: TrainConfig,
  options: LoadOptions,
): Promise<(row: number) => boolean> {
  const { dataset, evalSplit = 0, maxLength, model, seed } = config;
  /** For each row of the file, its index among the rows that are short enough, or −1. */
  const indices: number[] = [];
  let count = 0;
  try {
    const source = await locateModel(model, options);
    const { shape, tokenizer } = findStartingPoint(source, config);
    readDataset(dataset.path, rowLimit(maxLength, shape.context, isPretrained(model)), {
      objective: objectiveOf(config),
      tokenizer,
      onRow: ({ isSkipped }) => void indices.push(isSkipped ? -1 : count++),
    });
  } catch (cause) {
    throw new KitError(
      "OPTION_INVALID",
      `"evaluate" cannot tell which rows "evalSplit" sets aside: ${messageOf(cause)} Set "evalDataset" instead.`,
      { cause },
    );
  }
  const marks = heldOutRows(count, evalSplit, seed);
  return (row) => marks[indices[row] ?? -1] === 1;
}
