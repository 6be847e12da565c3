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
import { answeredRows, enoughTokens, readerOf } from "./learnedAnswers.ts";
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
  const isHeldOut = evalDataset ? () => true : await isSetAside(config, options);
  const { path } = evalDataset ?? dataset;
  let [total, skipped] = [0, 0];
  for (const row of answeredRows(config, path, isHeldOut)) {
    if (isEvaluable(row)) total++;
    else skipped++;
  }
  const isChosen = sampleRows(total, Math.min(maxRows, total), createRandom(seed, "asked"));
  const rows: DatasetRow[] = [];
  let at = 0;
  for (const row of answeredRows(config, path, isHeldOut)) {
    if (isEvaluable(row) && isChosen[at++] === 1) rows.push(row);
  }
  const reader = await readerOf(config, options);
  return { rows, total, skipped, maxTokens: enoughTokens(rows, reader), endOf: reader.endOf };
}

/** Which rows `evalSplit` sets aside, among those short enough to train on. */
async function isSetAside(
  config: TrainConfig,
  options: LoadOptions,
): Promise<(row: number) => boolean> {
  const { dataset, evalSplit = 0, maxLength, model, seed } = config;
  /** For each row of the file, its index among the rows short enough, or −1. */
  const kept: number[] = [];
  let count = 0;
  try {
    const source = await locateModel(model, options);
    const { shape, tokenizer } = findStartingPoint(source, config);
    readDataset(dataset.path, rowLimit(maxLength, shape.context, isPretrained(model)), {
      objective: objectiveOf(config),
      tokenizer,
      onRow: ({ isSkipped }) => void kept.push(isSkipped ? -1 : count++),
    });
  } catch (cause) {
    throw new KitError(
      "OPTION_INVALID",
      `"evaluate" cannot tell which rows "evalSplit" sets aside: ${messageOf(cause)} Set "evalDataset" in its place.`,
      { cause },
    );
  }
  const marks = heldOutRows(count, evalSplit, seed);
  return (row) => marks[kept[row] ?? -1] === 1;
}
