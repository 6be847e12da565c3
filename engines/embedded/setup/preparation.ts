import type { TrainOptions } from "../../../protocol/engine.ts";
import type { EventData } from "../../../protocol/event.ts";
import { type TrainConfig, isPretrained, rowsPerStep } from "../../../protocol/trainConfig.ts";
import { keepLeftOut } from "../../dataset/leftOut.ts";
import { rowLimit } from "../../dataset/rowLimit.ts";
import type { LocatedModel } from "../../families/modelSource.ts";
import { stepCount } from "../../schedule.ts";
import { batchLimits } from "../step/batchLimits.ts";
import { type TrainingPlan, planTraining } from "../step/trainingPlan.ts";
import { type StartingPoint, findStartingPoint } from "./startingPoint.ts";
import { type TrainingData, readTrainingData } from "./trainingData.ts";

/** All that is known before a training takes memory for its model. */
export interface Preparation {
  start: StartingPoint;
  data: TrainingData;
  plan: TrainingPlan;
  /** Optimizer steps in all. */
  steps: number;
  /** The data of `training.started`. */
  started: EventData["training.started"];
}

interface PrepareOptions extends Pick<TrainOptions, "onNote"> {
  source: LocatedModel;
  threads: number;
}

/** @throws KitError for what cannot be trained */
export function prepareTraining(
  config: TrainConfig,
  { source, threads, onNote }: PrepareOptions,
): Preparation {
  const start = findStartingPoint(source, config);
  const { shape, bfloat16, tokenizer } = start;
  const maxLength = rowLimit(config.maxLength, shape.context, isPretrained(config.model));
  const data = readTrainingData(config, maxLength, { tokenizer, onNote });
  const { training, evaluation } = data;
  const steps = stepCount(config, training.examples.length);
  const batches = {
    training: training.examples,
    evaluation: evaluation?.examples,
    ...{ rows: config.batchSize, seed: config.seed },
    count: steps * config.gradientAccumulationSteps,
  };
  const { lora, weightDecay, maxGradNorm } = config;
  const sizes = { shape, bfloat16, lora, options: { weightDecay, maxGradNorm } };
  const plan = planTraining({ ...sizes, threads, limits: batchLimits(batches, sizes) });
  const started = { ...reported(config, start, data, maxLength), maxLength, maxSteps: steps };
  const parameters = plan.model.tensors.groups.reduce((sum, { count }) => sum + count, 0);
  const epochs = (steps * rowsPerStep(config)) / training.examples.length;
  return { start, data, plan, steps, started: { ...started, parameters, epochs } };
}

/** The model's and the dataset's part of `training.started`. */
function reported(
  { maxLength }: TrainConfig,
  { source, shape }: StartingPoint,
  { dataset, fingerprint, training, evaluation }: TrainingData,
  limit: number,
) {
  const { cut, leftOut, format } = dataset;
  return {
    ...{ model: source.name, rows: training.rows, cut, leftOut, format },
    ...(evaluation && {
      evalRows: evaluation.rows,
      evalCut: evaluation.cut,
      evalLeftOut: evaluation.leftOut,
      evalFingerprint: evaluation.fingerprint,
    }),
    tokens: training.examples.predicted,
    fingerprint,
    keepLeftOut: keepLeftOut({
      ...dataset,
      maxLength: limit < shape.context ? limit : maxLength,
      context: shape.context,
      shape: source.kind === "shape" ? shape : undefined,
    }),
  };
}
