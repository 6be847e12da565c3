import { join } from "node:path";
import { ARTIFACTS, checkpointFolder } from "../../protocol/artifactPath.ts";
import type { TrainOptions } from "../../protocol/engine.ts";
import { readToResume } from "../../protocol/error.ts";
import { formatCount } from "../../protocol/format.ts";
import { type TrainConfig, rowsPerStep } from "../../protocol/trainConfig.ts";
import { adapterFiles, modelFiles } from "../checkpoint/checkpoint.ts";
import { withChecksums, writeDirectory } from "../checkpoint/directory.ts";
import {
  OPTIMIZER_FILE,
  optimizerFiles,
  readResumedRun,
  trainerState,
  withResumedType,
} from "../checkpoint/trainerState.ts";
import constants from "../constants.json" with { type: "json" };
import type { Sequence } from "../examples/examples.ts";
import type { LocatedModel } from "../families/modelSource.ts";
import { type Weights, areFinite } from "../modelFiles/weights.ts";
import type { Objective } from "../objectives/objective.ts";
import { objectiveOf } from "../objectives/objectives.ts";
import type { PlanBackend } from "./backend.ts";
import { createBatchLoader } from "./batches.ts";
import { diverged } from "./diverged.ts";
import { prepareTraining } from "./preparation.ts";
import { computeReference, createReference } from "./reference.ts";
import { learningRate } from "./schedule.ts";
import { baseOf, initialWeights } from "./startingPoint.ts";
import {
  type EvaluationResult,
  type StepContext,
  type StepOutcome,
  backpropagateStep,
  evaluate,
} from "./step.ts";
import { createStepLog } from "./stepLog.ts";

/** Always log the first two: warm-up, then real speed. */
const FIRST_STEPS = constants.firstLoggedSteps;

interface Options extends Pick<TrainOptions, "resumeFrom" | "onEvent" | "onNote"> {
  /** The config's model. */
  source: LocatedModel;
  planBackend: PlanBackend;
  /** Default: the config's. */
  objective?: Objective;
}

interface ComputedStep {
  outcome: StepOutcome;
  /** Predicted tokens. */
  tokens: number;
}

/**
 * Runs a job's whole training, on any backend.
 * @param directory the job's; artifacts go to its `artifacts/`
 * @throws KitError for an unsuitable config, model or dataset; `RESUME_INVALID`, `DIVERGED`, `CHECKPOINT_UNWRITABLE`
 */
export async function train(
  requested: TrainConfig,
  directory: string,
  { source, resumeFrom, onEvent, onNote, planBackend, objective = objectiveOf(requested) }: Options,
): Promise<void> {
  const config = withResumedType(requested, resumeFrom);
  const preparation = prepareTraining(config, { source, objective, resumeFrom, onNote });
  const { start, data, maxLength, steps, started } = preparation;
  const planned = await planBackend(preparation);
  const { dataset, training, evaluation } = data;
  const { lora, learningRate: peak } = config;
  const { shape, origin, tokenizerOrigin, tokenizer, templateDate } = start;
  const { promptStyle } = dataset;
  const from = { origin, tokenizerOrigin };
  const metadata = { shape, ...from, promptStyle, templateDate, stopTokens: tokenizer.stopTokens };
  const base = baseOf(start, directory);
  const resumed = readToResume(() => readResumedRun(resumeFrom, shape, lora));
  const { weights, moments } = resumed.state ?? {};
  if (resumeFrom !== undefined && !moments) onNote?.(noOptimizer(resumeFrom));
  /** Whether training overwrites the weights of the reference model, which is the model before training. */
  const overwritesReference = objective.needsReference === true && !lora;
  const backend = await planned.start({
    ...initialWeights(config, start, base, {
      ...metadata,
      resumed: overwritesReference ? undefined : weights,
    }),
    moments,
  });
  const skipped = resumed.step * rowsPerStep(config);
  const reference = overwritesReference
    ? await computeReference(backend, {
        objective,
        config,
        data,
        maxLength,
        directory,
        resumeFrom,
        onNote,
        skipped,
        steps: steps - resumed.step,
      })
    : createReference(backend);
  if (overwritesReference && weights) await backend.setWeights(weights);
  const context: StepContext = { backend, objective, reference, maxLength };
  const epochsAt = (step: number) => (step * rowsPerStep(config)) / training.examples.length;
  const { logs } = resumed;
  const stepLog = createStepLog(resumed.pending);
  const nextBatch = createBatchLoader(training.examples, config.batchSize, config.seed, skipped);
  let { tokens } = resumed;
  /** The next step, if it is computed but not applied yet. */
  let nextStep: ComputedStep | undefined;
  /** Settled once the results of all steps taken have come and are finite. */
  let settled: Promise<void> = Promise.resolve();

  async function computeStep(): Promise<ComputedStep> {
    const batches = Array.from({ length: config.gradientAccumulationSteps }, nextBatch);
    const sequences = batches.flat().flatMap(({ sequences }) => sequences);
    const tokens = sequences.reduce((sum, sequence) => sum + predictedCount(sequence), 0);
    return { outcome: await backpropagateStep(context, batches), tokens };
  }

  async function takeStep(step: number, rate: number): Promise<void> {
    const taken = nextStep ?? (await computeStep());
    nextStep = undefined;
    await backend.update(step, rate);
    const before = settled;
    settled = settle(step, taken, before);
    // Awaited later; until then, its failure must not count as unhandled.
    settled.catch(() => {});

    // A GPU computes this step meanwhile, and never has more than two to do.
    await before;
  }

  async function settle(step: number, taken: ComputedStep, before: Promise<void>): Promise<void> {
    const [result] = await Promise.all([taken.outcome(), before]);
    assertFinite(step, result, peak);
    stepLog.add({ ...result, tokens: taken.tokens });
    tokens += taken.tokens;
  }

  /** Undefined if the step isn't evaluated. */
  async function evaluateAfter(step: number): Promise<EvaluationResult | undefined> {
    if (!evaluation || !isDue(step, config.evalSteps)) return undefined;
    await settled;
    const result = await stepLog.withoutTiming(() =>
      evaluate(context, evaluation.examples, config.batchSize),
    );
    assertFinite(step, { loss: result.evalLoss }, peak);
    return result;
  }

  function isDue(step: number, every: number): boolean {
    return step === steps || step % every === 0;
  }

  /** Saves the weights once the next step's loss is finite. That step isn't computed twice. */
  async function save(step: number): Promise<void> {
    await settled;
    onNote?.(`saving step ${formatCount(step)}`);
    const next = await computeStep();
    const result = await next.outcome();
    nextStep = { ...next, outcome: () => Promise.resolve(result) };
    assertFinite(Math.min(step + 1, steps), result, peak);
    const weights = await backend.weights();
    assertFinite(step, { weights }, peak);
    const state = trainerState(config, logs, {
      ...(source.kind === "checkpoint" && { commit: source.commit }),
      step,
      maxSteps: steps,
      tokens,
      pending: stepLog.pending(),
      epoch: epochsAt(step),
      epochs: epochsAt(steps),
      baseType: backend.baseType,
    });
    const path = `${ARTIFACTS}/${checkpointFolder(step)}`;
    const files = lora
      ? adapterFiles(weights, { ...metadata, state, lora, base })
      : modelFiles(weights, { ...metadata, state });
    const all = withChecksums({ ...files, ...optimizerFiles(await backend.moments()) });
    writeDirectory(join(directory, path), all);
    const kind = lora ? "adapter" : "model";
    onEvent({ event: "checkpoint.saved", data: { step, kind, path } });
  }

  onEvent({ event: "training.started", data: started });
  // The job that this one resumes ended after its last step, before saving.
  if (resumed.step >= steps) await save(resumed.step);
  for (let step = resumed.step + 1; step <= steps; step++) {
    const rate = learningRate(step, steps, config);
    await takeStep(step, rate);
    const evaluated = await evaluateAfter(step);
    const isLogged = step <= FIRST_STEPS || isDue(step, config.loggingSteps);
    if (isLogged || evaluated) {
      await settled;
      const log = stepLog.log({ step, learningRate: rate, epoch: epochsAt(step), evaluated });
      logs.push(log);
      onEvent({ event: "training.log", data: log });
    }
    if (isDue(step, config.saveSteps)) await save(step);
  }
}

function predictedCount({ tokens }: Sequence): number {
  return tokens.length - 1;
}

function noOptimizer(checkpoint: string): string {
  return `warning: ${checkpoint} has no ${OPTIMIZER_FILE}, so the optimizer starts afresh; losses will differ from an uninterrupted run`;
}

/** Results of a step that must be finite. */
interface Figures {
  loss?: number;
  gradNorm?: number;
  weights?: Weights;
}

/**
 * @param peak the config's learning rate
 * @throws KitError `DIVERGED` if a result isn't finite
 */
export function assertFinite(
  step: number,
  { loss = 0, gradNorm = 0, weights = {} }: Figures,
  peak: number,
): void {
  const what = [
    ...(Number.isFinite(loss) ? [] : ["loss is"]),
    ...(Number.isFinite(gradNorm) ? [] : ["gradient norm is"]),
    ...(Object.values(weights).every(({ data }) => areFinite(data)) ? [] : ["weights are"]),
  ][0];
  if (what === undefined) return;
  throw diverged(` at step ${step}: the ${what} not finite`, peak);
}
