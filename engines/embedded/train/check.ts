import type { CheckOptions } from "../../../protocol/engine.ts";
import { rowsPerStep } from "../../../protocol/trainConfig.ts";
import type { TrainingCheck } from "../../../protocol/trainingCheck.ts";
import { keepLeftOut } from "../../dataset/leftOut.ts";
import { rowLimit } from "../../dataset/rowLimit.ts";
import type { Examples } from "../../llama/examples.ts";
import { piecesOf } from "../../llama/pieces.ts";
import { resolveModel } from "../../llama/presets.ts";
import { readDataset } from "../../llama/tokenizedDataset.ts";
import { stepCount } from "../../schedule.ts";
import { threadCount } from "../kernels/threadCount.ts";
import { rowLength } from "./batch.ts";
import { startingPoint } from "./train.ts";
import { planTraining } from "./trainingPlan.ts";

/** What `train` would do: the same data and the same plan of the memory, of which none is taken. */
export function check({ config, onNote }: CheckOptions): TrainingCheck {
  const { lora, batchSize, weightDecay, maxGradNorm, seed } = config;
  const source = resolveModel(config.model);
  const { shape, bfloat16, read } = startingPoint(source, seed);
  const maxLength = rowLimit(config.maxLength, shape.context);
  const dataset = readDataset(config.dataset.path, maxLength, { onNote });
  const { examples, rows, cut, leftOut, format, longestRow } = dataset;
  const length = rowLength(examples);
  const options = { weightDecay, maxGradNorm };
  const size = { rows: batchSize, length, threads: threadCount() };
  const plan = planTraining({ shape, bfloat16, ...size, lora, options });
  // Damaged weights stop a training, too.
  if (source.kind === "checkpoint") read();
  const maxSteps = stepCount(config, examples.length);
  return {
    started: {
      ...{ model: source.name, rows, cut, leftOut, maxLength, format, maxSteps },
      parameters: plan.trained.weights.reduce((sum, { count }) => sum + count, 0),
      keepLeftOut: keepLeftOut({
        ...dataset,
        maxLength: config.maxLength,
        context: shape.context,
        shape: source.kind === "shape" ? shape : undefined,
      }),
      tokens: examples.predicted,
      epochs: (maxSteps * rowsPerStep(config)) / examples.length,
    },
    learnedTokens: learnedIn(examples),
    longestRow,
    memoryBytes: plan.arena.sizes().all,
    firstRow: piecesOf(examples.at(0)),
  };
}

function learnedIn(examples: Examples): number {
  let count = 0;
  for (let index = 0; index < examples.length; index++) {
    for (const one of examples.at(index).learned) count += one;
  }
  return count;
}
