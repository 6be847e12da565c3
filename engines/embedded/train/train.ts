import { join } from "node:path";
import { ARTIFACTS, checkpointFolder } from "../../../protocol/artifactPath.ts";
import type { TrainOptions } from "../../../protocol/engine.ts";
import { type TrainConfig, rowsPerStep } from "../../../protocol/trainConfig.ts";
import { adapterFiles, modelFiles } from "../../checkpoint/checkpoint.ts";
import { withChecksums, writeDirectory } from "../../checkpoint/directory.ts";
import { OPTIMIZER_FILE, optimizerFiles } from "../../checkpoint/trainedState.ts";
import type { LocatedModel } from "../../families/modelSource.ts";
import { learningRate } from "../../schedule.ts";
import { readLength } from "../model/batch.ts";
import { prepareTraining } from "../setup/preparation.ts";
import { readResumed } from "../setup/resumed.ts";
import { baseOf, initialWeights } from "../setup/startingPoint.ts";
import { trainerState } from "../setup/trainerState.ts";
import { createFeed } from "../step/batch.ts";
import { type HelperInvitation, createLearner } from "../step/learner.ts";
import { assertFinite } from "./divergence.ts";
import { evaluate } from "./evaluation.ts";
import { createStepLog } from "./stepLog.ts";

/** Logged whatever `loggingSteps` says: one that warms up, and one that shows how fast it is. */
const FIRST_STEPS = 2;

/** The threads of a training. */
export interface Team {
  /** At most, this one among them. */
  threads: number;
  invite: (seat: HelperInvitation) => void;
}

interface Options extends Pick<TrainOptions, "resumeFrom" | "onEvent" | "onNote"> {
  /** The config's model. */
  source: LocatedModel;
}

/**
 * Trains on this thread, and on those that it invites.
 * @param directory the job's; artifacts go to `artifacts/` in it
 */
export function train(
  config: TrainConfig,
  directory: string,
  { source, resumeFrom, onEvent, onNote, threads, invite }: Options & Team,
): void {
  const { start, data, plan, steps, started } = prepareTraining(config, {
    source,
    threads,
    onNote,
  });
  const { dataset, training, evaluation } = data;
  const { lora, learningRate: peak } = config;
  const { shape, origin } = start;
  const notes = { shape, origin, promptStyle: dataset.promptStyle };
  const base = baseOf(start, directory);
  const resumed = readResumed(resumeFrom, shape, lora);
  const { weights, moments } = resumed.state ?? {};
  if (resumeFrom !== undefined && !moments) onNote?.(noOptimizer(resumeFrom));
  const learner = createLearner(
    ...initialWeights(config, start, base, { ...notes, resumed: weights }),
    ...([plan, { moments, invite }] as const),
  );
  const epochsAt = (step: number) => (step * rowsPerStep(config)) / training.examples.length;
  const { logs } = resumed;
  const stepLog = createStepLog(resumed.losses);
  const skipped = resumed.step * rowsPerStep(config);
  const nextBatch = createFeed(training.examples, config.batchSize, config.seed, skipped);
  let { tokens } = resumed;
  /** The next step up to its update, once it is computed. */
  let ahead: ReturnType<typeof computeStep> | undefined;

  function computeStep() {
    const batches = Array.from({ length: config.gradientAccumulationSteps }, nextBatch);
    const tokens = batches.flat().reduce((sum, example) => sum + readLength(example), 0);
    return { ...learner.backpropagate(batches), tokens };
  }

  function learn(step: number, rate: number): void {
    const taken = ahead ?? computeStep();
    ahead = undefined;
    assertFinite(step, taken, peak);
    learner.update(step, rate);
    stepLog.add(taken);
    tokens += taken.tokens;
  }

  /** Undefined for a step that is not evaluated. */
  function evalLossAfter(step: number): number | undefined {
    if (!evaluation || !isDue(step, config.evalSteps)) return undefined;
    const evalLoss = stepLog.withoutTiming(() =>
      evaluate(learner, evaluation.examples, config.batchSize),
    );
    assertFinite(step, { loss: evalLoss }, peak);
    return evalLoss;
  }

  function isDue(step: number, every: number): boolean {
    return step === steps || step % every === 0;
  }

  /** Saves the weights once the step that follows has proved them: what it computes is not lost. */
  function save(step: number): void {
    ahead = computeStep();
    assertFinite(Math.min(step + 1, steps), ahead, peak);
    const weights = learner.weights();
    assertFinite(step, { weights }, peak);
    const state = trainerState(config, logs, {
      ...(source.kind === "checkpoint" && { commit: source.commit }),
      ...{ step, maxSteps: steps, tokens, losses: stepLog.pending() },
      ...{ epoch: epochsAt(step), epochs: epochsAt(steps) },
    });
    const path = `${ARTIFACTS}/${checkpointFolder(step)}`;
    const files = lora
      ? adapterFiles(weights, { ...notes, state, lora, base })
      : modelFiles(weights, { ...notes, state });
    const all = withChecksums({ ...files, ...optimizerFiles(learner.moments()) });
    writeDirectory(join(directory, path), all);
    const kind = lora ? "adapter" : "model";
    onEvent({ event: "checkpoint.saved", data: { step, kind, path } });
  }

  onEvent({ event: "training.started", data: started });
  // The job had trained all its steps, but not ended.
  if (resumed.step >= steps) save(resumed.step);
  for (let step = resumed.step + 1; step <= steps; step++) {
    const rate = learningRate(step, steps, config);
    learn(step, rate);
    const evalLoss = evalLossAfter(step);
    const isLogged = step <= FIRST_STEPS || isDue(step, config.loggingSteps);
    if (isLogged || evalLoss !== undefined) {
      const log = stepLog.log({ step, learningRate: rate, epoch: epochsAt(step), evalLoss });
      logs.push(log);
      onEvent({ event: "training.log", data: log });
    }
    if (isDue(step, config.saveSteps)) save(step);
  }
}

function noOptimizer(checkpoint: string): string {
  return `warning: ${checkpoint} has no ${OPTIMIZER_FILE}, so the optimizer starts anew; losses will differ from an uninterrupted run`;
}
