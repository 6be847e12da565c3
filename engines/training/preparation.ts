import type { TrainOptions } from "../../protocol/engine.ts";
import type { EventData } from "../../protocol/event.ts";
import { type TrainConfig, isPretrained, rowsPerStep } from "../../protocol/trainConfig.ts";
import constants from "../constants.json" with { type: "json" };
import { heldOutRows } from "../dataset/heldOut.ts";
import { skippedRowsAdvice, rowLimit } from "../dataset/rowLimit.ts";
import { type ExampleSet, digestOf } from "../examples/examples.ts";
import type { LocatedModel } from "../families/modelSource.ts";
import { weightShapes } from "../families/tensorShapes.ts";
import { adapterShapes } from "../lora/adapter.ts";
import { countOf } from "../modelFiles/weights.ts";
import type { Objective } from "../objectives/objective.ts";
import type { InspectedRow, Inspection } from "./inspection.ts";
import { stepCount } from "./schedule.ts";
import { type StartingPoint, findStartingPoint } from "./startingPoint.ts";
import { type ReadOptions, type TokenizedDataset, readDataset } from "./tokenizedDataset.ts";

/** A training run before its model's memory is allocated. */
export interface Preparation {
  config: TrainConfig;
  objective: Objective;
  start: StartingPoint;
  data: TrainingData;
  /** Maximum tokens of a sequence. */
  maxLength: number;
  /** Total optimizer steps. */
  steps: number;
  /** Data of `training.started`. */
  started: EventData["training.started"];
}

interface PrepareOptions extends Pick<TrainOptions, "resumeFrom" | "onNote"> {
  source: LocatedModel;
  objective: Objective;
  /** Gets every row as it is read. */
  inspection?: Inspection;
}

/** The format of rows that need no chat template. */
const TEXTS = "{text}";

/** @throws KitError for an unsuitable config, model or dataset */
export function prepareTraining(
  config: TrainConfig,
  { source, objective, inspection, resumeFrom, onNote }: PrepareOptions,
): Preparation {
  const start = findStartingPoint(source, config, resumeFrom);
  const { shape, tokenizer } = start;
  const maxLength = rowLimit(config.maxLength, shape.context, isPretrained(config.model));
  const data = readTrainingData(config, maxLength, {
    objective,
    tokenizer,
    inspection,
    onNote,
  });
  if (!tokenizer.hasTemplate && data.dataset.format !== TEXTS) onNote?.(constants.withoutTemplate);
  const { training } = data;
  const steps = stepCount(config, training.examples.length);
  const started = { ...startedData(config, start, data, maxLength), maxLength, maxSteps: steps };
  const trainableShapes = config.lora ? adapterShapes(config.lora, shape) : weightShapes(shape);
  const { numbers: parameters } = countOf(trainableShapes);
  const epochs = (steps * rowsPerStep(config)) / training.examples.length;
  return {
    config,
    objective,
    start,
    data,
    maxLength,
    steps,
    started: { ...started, parameters, epochs },
  };
}

/** The fields of `training.started` that describe the model and the dataset. */
function startedData(
  { maxLength }: TrainConfig,
  { source, shape }: StartingPoint,
  { dataset, fingerprint, training, evaluation }: TrainingData,
  limit: number,
) {
  const { truncated: cut, skipped: leftOut, format } = dataset;
  return {
    model: source.name,
    rows: training.rows,
    cut,
    leftOut,
    format,
    ...(evaluation && {
      evalRows: evaluation.rows,
      evalCut: evaluation.truncated,
      evalLeftOut: evaluation.skipped,
      evalFingerprint: evaluation.fingerprint,
    }),
    tokens: training.examples.predictedTokens,
    fingerprint,
    keepLeftOut: skippedRowsAdvice({
      rows: dataset.rows,
      leftOut,
      needed: dataset.longestSkipped,
      maxLength: limit < shape.context ? limit : maxLength,
      context: shape.context,
      shape: source.kind === "untrained" ? shape : undefined,
    }),
  };
}

/** Rows to train and evaluate on. */
export interface TrainingData {
  dataset: TokenizedDataset;
  /** Identifies all rows of `dataset`. */
  fingerprint: string;
  /** Rows to train on, without the held-out ones. */
  training: Rows;
  /** Rows to evaluate on; if they are an `evalDataset`, also how many of them were truncated and skipped. */
  evaluation?: Rows &
    Partial<Pick<TokenizedDataset, "truncated" | "skipped">> & { fingerprint: string };
}

interface Rows {
  rows: number;
  examples: ExampleSet;
}

/**
 * @param maxLength of a row, in tokens
 * @throws KitErrors of `readDataset` and `heldOutRows`
 */
function readTrainingData(
  { dataset: { path }, evalDataset, evalSplit, seed }: TrainConfig,
  maxLength: number,
  { inspection, ...options }: Omit<ReadOptions, "onRow"> & { inspection?: Inspection | undefined },
): TrainingData {
  const onRowOf = (isHeldOut: boolean) =>
    inspection && ((row: InspectedRow) => inspection.add(row, isHeldOut));
  const dataset = readDataset(path, maxLength, { ...options, onRow: onRowOf(false) });
  const fingerprint = dataset.examples.fingerprint();
  const all = { dataset, fingerprint, training: dataset };
  if (evalDataset) {
    const heldOut = readDataset(evalDataset.path, maxLength, { ...options, onRow: onRowOf(true) });
    return { ...all, evaluation: { ...heldOut, fingerprint: heldOut.examples.fingerprint() } };
  }
  if (evalSplit === undefined) return all;
  const marks = heldOutRows(dataset.rows, evalSplit, seed);
  const splitOf = (mark: number) => ({
    rows: marks.filter((rowMark) => rowMark === mark).length,
    examples: dataset.examples.ofRows((row) => marks[row] === mark),
  });
  const evaluation = { ...splitOf(1), fingerprint: digestOf([fingerprint, marks]) };
  return { ...all, training: splitOf(0), evaluation };
}
