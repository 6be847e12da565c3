import * as v from "valibot";
import type { DatasetCode, DatasetInput } from "../protocol/dataset.ts";
import type { Engine } from "../protocol/engine.ts";
import { KitError, isKitError } from "../protocol/error.ts";
import { isLowerBetter } from "../protocol/evaluation.ts";
import type { EvaluateOptions, Metrics } from "../protocol/metric.ts";
import type {
  TrainingOptions,
  LoraTrainingOptions,
  JobConfig,
  ModelShape,
  PresetName,
  TrainConfig,
} from "../protocol/trainConfig.ts";
import { type JobArguments, JOB_ARGUMENTS } from "../protocol/trainerOptions.ts";
import type { TrainerCallbacks } from "./callbacks.ts";
import { type Projection, createDefaultEngine } from "./engine.ts";
import {
  refuseContradictions,
  refuseObjective,
  refuseUnevenSaves,
} from "./validation/contradictions.ts";
import { readDataset } from "./validation/datasetInput.ts";
import { describeOption, optionsSchema } from "./validation/optionsSchema.ts";

/** Any string; unlike `string`, it keeps editor suggestions for the names beside it. */
type OtherText = string & Record<never, never>;

/**
 * Low-rank adaptation, with PEFT's names: the base model is frozen, an adapter is trained. `{}` takes
 * the defaults.
 */
export interface LoraOptions extends LoraTrainingOptions {
  /**
   * Names that the engine knows, here Llama's projections, or `"all-linear"` for all of them.
   * Default `"all-linear"`.
   */
  targetModules?: "all-linear" | (Projection | OtherText)[];
}

/**
 * The options of `createTrainer`. Names follow Hugging Face's `TrainingArguments`.
 * @typeParam Epochs the value of `numTrainEpochs` if it is a literal; then `maxSteps` must be omitted
 */
export interface TrainerOptions<Epochs extends number = number>
  extends Omit<TrainingOptions, "dataset" | "evalDataset">, Partial<JobArguments> {
  /** Shown in the page and on its button. */
  name: string;
  /**
   * Rows to learn from: files (`{ path }`), rows in memory, or a function that returns or yields them.
   * @example dataset: { path: "data/train.jsonl" }
   */
  dataset: DatasetInput;
  /**
   * Rows to evaluate on, which are not trained on: the loss on them is `evalLoss`. Default: none, and
   * nothing is evaluated.
   */
  evalDataset?: DatasetInput;
  /**
   * `"kit/nano"` or `"kit/small"`, sizes of your own, or a model to fine-tune: the path of a
   * checkpoint directory (beginning with `.` or `/`), or a name on the Hugging Face hub (`"org/name"`,
   * `"org/name@revision"`). Default `"kit/nano"`.
   */
  model?: PresetName | OtherText | ModelShape;
  maxSteps?: NoInfer<number extends Epochs ? number : undefined>;
  numTrainEpochs?: Epochs;
  /** Default: the embedded engine, which needs nothing but npm. */
  engine?: Engine;
  lora?: LoraOptions;
  /**
   * Scores the model's answers to held-out rows, before the first step and at each checkpoint. Needs
   * `evalDataset` or `evalSplit`. Default: no evaluation.
   * @example evaluate: { metrics: { accuracy: ({ output, expected }) => output === expected } }
   */
  evaluate?: EvaluateOptions;
  /** Your own code, called while the job trains: `onLog`, `onCheckpoint` and others. Default: none. */
  callbacks?: TrainerCallbacks;
  /**
   * Aborting it cancels the job. Default: none.
   * @example abortSignal: AbortSignal.timeout(3_600_000)
   */
  abortSignal?: AbortSignal;
}

/** Checked options, with the config that the engine prepared. */
export interface CheckedOptions {
  name: string;
  engine: Engine;
  /** With paths as the project wrote them. */
  config: JobConfig;
  /** The project's own code in its datasets. */
  code: { dataset: DatasetCode; evalDataset?: DatasetCode };
  /** The project's own metrics, if any. */
  metrics: Metrics | undefined;
  callbacks: TrainerCallbacks;
  abortSignal: AbortSignal | undefined;
}

/** @throws KitError `OPTION_INVALID` naming the option, what was expected and what was found */
export function checkOptions(options: TrainerOptions): CheckedOptions {
  const result = v.safeParse(optionsSchema, options, { abortEarly: true });
  if (!result.success) throw new KitError("OPTION_INVALID", describeOption(result.issues[0]));
  const { name, engine: _engine, callbacks: _callbacks, ...others } = result.output;
  const { abortSignal, evaluate, ...rest } = others;
  const dataset = readDataset(options.dataset, "dataset");
  const evalDataset = options.evalDataset && readDataset(options.evalDataset, "evalDataset");
  const datasets = {
    dataset: dataset.config,
    ...(evalDataset && { evalDataset: evalDataset.config }),
  };
  const { jobOptions, trainingOptions } = splitArguments({ ...rest, ...datasets });
  refuseContradictions(trainingOptions, jobOptions, evaluate);
  // Unparsed, because both may be objects whose methods need their `this`.
  const { engine = createDefaultEngine(), callbacks = {} } = options;
  refuseObjective(engine, trainingOptions);
  const config = { ...prepare(engine, trainingOptions), ...jobOptions, ...evaluation(evaluate) };
  refuseUnevenSaves(config);
  const code = { dataset: dataset.code, ...(evalDataset && { evalDataset: evalDataset.code }) };
  const metrics = evaluate?.metrics;
  return { name, engine, config, code, metrics, callbacks, abortSignal };
}

/** Default number of rows to evaluate. */
const DEFAULT_ROWS = 100;

/** The `evaluate` option for `job.json`. */
function evaluation(evaluate: EvaluateOptions | undefined): Pick<JobConfig, "evaluate"> {
  if (!evaluate) return {};
  const { metrics, rows = DEFAULT_ROWS, ...sampling } = evaluate;
  return { evaluate: { metrics: Object.keys(metrics), rows, ...sampling } };
}

type Arguments = TrainingOptions & Partial<JobArguments>;

/** Splits options into Kit's own, with defaults, and the engine's. */
function splitArguments({
  saveTotalLimit,
  loadBestModelAtEnd = JOB_ARGUMENTS.loadBestModelAtEnd.default,
  metricForBestModel = JOB_ARGUMENTS.metricForBestModel.default,
  greaterIsBetter,
  earlyStoppingPatience,
  reportTo,
  resume = JOB_ARGUMENTS.resume.default,
  ...trainingOptions
}: Arguments): { jobOptions: JobArguments; trainingOptions: TrainingOptions } {
  const best = {
    loadBestModelAtEnd,
    metricForBestModel,
    greaterIsBetter:
      greaterIsBetter ?? !isLowerBetter(metricForBestModel, trainingOptions.objective),
    earlyStoppingPatience,
  };
  return { jobOptions: { ...best, saveTotalLimit, reportTo, resume }, trainingOptions };
}

function prepare(engine: Engine, trainingOptions: TrainingOptions): TrainConfig {
  try {
    return engine.prepare(trainingOptions);
  } catch (error) {
    // Anything else is a fault of the engine, not of the options.
    if (!isKitError(error)) throw error;
    throw new KitError("OPTION_INVALID", `createTrainer: ${error.message}`, { cause: error });
  }
}
