import { join } from "node:path";
import { ARTIFACTS, checkpointFolder } from "../../../protocol/artifactPath.ts";
import type { TrainOptions } from "../../../protocol/engine.ts";
import { type TrainConfig, rowsPerStep } from "../../../protocol/trainConfig.ts";
import type { Artifact, EventData } from "../../../protocol/event.ts";
import { batches, rowLength } from "./batch.ts";
import {
  BASE_DIRECTORY,
  adapterFiles,
  assertCheckpoint,
  isAdapter,
  modelFiles,
  openCheckpoint,
  saveModel,
} from "../../checkpoint/checkpoint.ts";
import { learningRate, stepCount } from "../../schedule.ts";
import { rowLimit } from "../../dataset/rowLimit.ts";
import { stageDirectory } from "../../checkpoint/directory.ts";
import { assertFinite } from "./divergence.ts";
import { keepLeftOut } from "../../dataset/leftOut.ts";
import { type HelperSeat, createLearner } from "./learner.ts";
import { randomAdapter } from "../../llama/adapter.ts";
import { readDataset } from "../../llama/tokenizedDataset.ts";
import { type ModelSource, resolveModel } from "../../llama/presets.ts";
import { createStepLog } from "./stepLog.ts";
import { trainerState } from "./trainerState.ts";
import { planTraining } from "./trainingPlan.ts";
import { type StoredWeights, widen } from "../../llama/storedWeights.ts";
import { type LlamaShape, type Weights, randomWeights } from "../../llama/weights.ts";

/** Logged whatever `loggingSteps` says: one that warms up, and one that shows how fast it is. */
const FIRST_STEPS = 2;

/** The threads of a training. */
export interface Team {
  /** At most, this one among them. */
  threads: number;
  invite: (seat: HelperSeat) => void;
}

/**
 * Trains on this thread, and on those that it invites.
 * @param directory the job's; artifacts go to `artifacts/` in it
 */
export function train(
  config: TrainConfig,
  directory: string,
  { onEvent, onNote, threads, invite }: Pick<TrainOptions, "onEvent" | "onNote"> & Team,
): void {
  const source = resolveModel(config.model);
  const { shape, bfloat16, read } = startingPoint(source, config.seed);
  const longest = rowLimit(config.maxLength, shape.context);
  const dataset = readDataset(config.dataset.path, longest, { onNote });
  const { lora, batchSize, weightDecay, maxGradNorm } = config;
  const length = rowLength(dataset.examples);
  const options = { weightDecay, maxGradNorm };
  const plan = planTraining({ shape, bfloat16, rows: batchSize, length, lora, threads, options });
  const notes = { shape, promptStyle: dataset.promptStyle };
  const ownBase = join(directory, ARTIFACTS, BASE_DIRECTORY);
  const base =
    source.kind === "checkpoint" && !isAdapter(source.directory) ? source.directory : ownBase;
  /** What is trained, and what is frozen. Nobody here keeps them: they are the learner's. */
  function initialWeights(): [Weights, StoredWeights] {
    const weights = read();
    if (!lora) return [widen(weights), {}];
    if (base === ownBase) saveModel(base, weights, notes);
    return [randomAdapter(lora, shape, config.seed), weights];
  }

  const learner = createLearner(...initialWeights(), plan, { invite });
  const parameters = plan.trained.weights.reduce((sum, { count }) => sum + count, 0);
  const maxSteps = stepCount(config, dataset.examples.length);
  const epochsAt = (step: number) => (step * rowsPerStep(config)) / dataset.examples.length;
  onEvent({
    event: "training.started",
    data: {
      model: source.name,
      parameters,
      rows: dataset.rows,
      cut: dataset.cut,
      leftOut: dataset.leftOut,
      maxLength: longest,
      keepLeftOut: keepLeftOut({
        ...dataset,
        maxLength: config.maxLength,
        context: shape.context,
        shape: source.kind === "shape" ? shape : undefined,
      }),
      format: dataset.format,
      tokens: dataset.examples.predicted,
      maxSteps,
      epochs: epochsAt(maxSteps),
    },
  });

  /** Stages a checkpoint; the returned function publishes it. */
  function stage(step: number): () => void {
    const path = `${ARTIFACTS}/${checkpointFolder(step)}`;
    const at = { step, maxSteps, epoch: epochsAt(step), epochs: epochsAt(maxSteps), tokens };
    const state = trainerState(config, logs, at);
    const saved = learner.weights();
    const files = lora
      ? adapterFiles(saved, { ...notes, state, lora, base })
      : modelFiles(saved, { ...notes, state });
    const show = stageDirectory(join(directory, path), files);
    return () => {
      show();
      const artifact: Artifact = { step, kind: lora ? "adapter" : "model", path };
      onEvent({ event: "checkpoint.saved", data: artifact });
    };
  }

  const logs: EventData["training.log"][] = [];
  const progress = createStepLog();
  const feed = batches(dataset.examples, batchSize, config.seed);
  const peak = config.learningRate;
  let tokens = 0;
  // Published once the next step proves the loss of its weights finite.
  let showStaged: (() => void) | undefined;
  for (let step = 1; step <= maxSteps; step++) {
    const taken = Array.from({ length: config.gradientAccumulationSteps }, () => feed.next().value);
    const rate = learningRate(step, maxSteps, config);
    const result = learner.learn(taken, step, rate);
    assertFinite(`at step ${step}`, result, peak);
    showStaged?.();
    showStaged = undefined;
    const size = taken.reduce((sum, batch) => sum + batch.size, 0);
    progress.add({ ...result, tokens: size });
    tokens += size;
    const last = step === maxSteps;
    if (step <= FIRST_STEPS || last || step % config.loggingSteps === 0) {
      const log = progress.log({ step, learningRate: rate, epoch: epochsAt(step) });
      logs.push(log);
      onEvent({ event: "training.log", data: log });
    }
    if (last || step % config.saveSteps === 0) showStaged = stage(step);
  }
  // A step with a learning rate of 0 only measures the loss of the final weights.
  const result = learner.learn([feed.next().value], maxSteps + 1, 0);
  assertFinite(`after step ${maxSteps}`, result, peak);
  showStaged?.();
}

/** A model before its first step, whose weights are read or made once it is known that they fit. */
interface StartingPoint {
  shape: LlamaShape;
  /** Names of the tensors that are. */
  bfloat16?: ReadonlySet<string>;
  read: () => StoredWeights;
}

export function startingPoint(source: ModelSource, seed: number): StartingPoint {
  if (source.kind === "shape") {
    const { shape } = source;
    return { shape, read: () => randomWeights(shape, seed) };
  }
  assertCheckpoint(source.directory);
  const { shape, weights } = openCheckpoint(source.directory);
  return { shape, ...weights };
}
