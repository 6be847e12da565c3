// The plain options of `createTrainer`: type, doc, check, default, effect on a resumed run, and synonyms.
import * as v from "valibot";
import { EVAL_LOSS } from "./evaluation.ts";
import {
  countOrShare,
  line,
  notNegative,
  oneOf,
  positive,
  shareOfAll,
  wholeNumber,
} from "./valueSchemas.ts";

/** What is trained: a whole model from random weights, a whole pretrained one, or an adapter. */
export type TrainingKind = "preset" | "pretrained" | "lora";

/** Effect of a changed option on a resumed run. */
export type OnResume = "impossible" | "other losses" | "none";

interface TrainerOption extends Partial<Record<TrainingKind, unknown>> {
  schema: v.GenericSchema;
  /** Default for kinds without their own; none if it depends on other options. */
  default?: unknown;
  onResume: OnResume;
  /** Other trainers' names, in kebab case. */
  synonyms: readonly string[];
}

type Options = Record<string, TrainerOption>;

type Values<Of extends Options> = { -readonly [K in keyof Of]: v.InferOutput<Of[K]["schema"]> };

type OrNone<Values> = { [K in keyof Values]: Values[K] | undefined };

/** Learning rate schedules after the warm-up: down to a tenth of the peak, down to 0, or constant. */
export const SCHEDULERS = ["cosine", "linear", "constant"] as const;

/** More epochs over a billion rows would overflow a safe step count. */
const MAX_EPOCHS = 1_000_000;

/**
 * The engine's options with defaults. Pretrained models need small steps or they forget; adapters start at
 * zero and tolerate larger ones. Both are larger than presets, with longer rows, so batches are smaller.
 */
export const TRAINING_ARGUMENTS = {
  /** Rows per batch. Default 32; for a pretrained model 4. */
  batchSize: {
    schema: wholeNumber(1),
    default: 32,
    pretrained: 4,
    lora: 4,
    onResume: "other losses",
    synonyms: ["batch", "bs", "per-device-train-batch-size", "train-batch-size"],
  },
  /**
   * Batches per optimizer step; their gradients are summed. With `python()`, 2 × 16 rows take about half
   * the activation memory of 1 × 32. Default 1.
   */
  gradientAccumulationSteps: {
    schema: wholeNumber(1),
    default: 1,
    onResume: "other losses",
    synonyms: ["gradient-accumulation", "grad-accum", "accumulation-steps"],
  },
  /**
   * Peak of the schedule. Default 0.004. For a pretrained model 0.00002, for an adapter of one 0.0002.
   * For the objectives `"dpo"` and `"kto"` 0.000001, with `lora` 0.00001.
   */
  learningRate: {
    schema: positive(),
    default: 4e-3,
    pretrained: 2e-5,
    lora: 2e-4,
    onResume: "other losses",
    synonyms: ["lr", "learning-rate-multiplier"],
  },
  /** After a linear warm-up. Default `"cosine"`. */
  lrSchedulerType: {
    schema: oneOf(...SCHEDULERS),
    default: "cosine",
    onResume: "other losses",
    synonyms: ["lr-scheduler", "scheduler"],
  },
  /** Optimizer steps, or below 1 a share of all. Default 20. */
  warmupSteps: {
    schema: countOrShare(),
    default: 20,
    onResume: "other losses",
    synonyms: ["warmup", "warmup-ratio", "num-warmup-steps"],
  },
  /** Decoupled, as in AdamW. Default 0.01. */
  weightDecay: {
    schema: notNegative(),
    default: 0.01,
    onResume: "other losses",
    synonyms: ["wd", "decay"],
  },
  /** The gradient's global L2 norm is clipped to this. Default 1. */
  maxGradNorm: {
    schema: positive(),
    default: 1,
    onResume: "other losses",
    synonyms: ["grad-clip", "clip", "gradient-clipping"],
  },
  /** Steps between two `training.log` events; the first two, the last and the evaluated ones are always logged. Default 5. */
  loggingSteps: {
    schema: wholeNumber(1),
    default: 5,
    onResume: "none",
    synonyms: ["log-every", "steps-per-report"],
  },
  /** Steps between two checkpoints; the last step is always saved. Default 100. */
  saveSteps: {
    schema: wholeNumber(1),
    default: 100,
    onResume: "none",
    synonyms: ["save-every", "checkpoint-every", "save-strategy"],
  },
  /** Decides the initial weights and the order of the rows: the same seed, the same losses. Default 42. */
  seed: {
    schema: wholeNumber(0),
    default: 42,
    onResume: "other losses",
    synonyms: ["random-seed"],
  },
} as const satisfies Options;

/** How to train, by the names of Hugging Face's `TrainingArguments`. */
export type TrainingArguments = Values<typeof TRAINING_ARGUMENTS>;

/** Engine options whose defaults depend on other options. */
export const LENGTH_ARGUMENTS = {
  /** Optimizer steps, unless `numTrainEpochs` is set. Default 400. */
  maxSteps: {
    schema: wholeNumber(1),
    default: 400,
    onResume: "other losses",
    synonyms: ["steps", "iters", "iterations", "num-steps"],
  },
  /** Passes over the dataset, instead of `maxSteps`; may be a fraction, at most 1,000,000. */
  numTrainEpochs: {
    schema: positive(MAX_EPOCHS),
    onResume: "other losses",
    synonyms: ["epochs", "epoch", "num-epochs", "n-epochs"],
  },
  /** Instead of `evalDataset`: the share of the dataset's rows to hold out, between 0 and 1. The seed chooses them. */
  evalSplit: {
    schema: shareOfAll(),
    onResume: "other losses",
    synonyms: ["val-size", "val-set-size", "validation-split", "test-size", "eval-size"],
  },
  /** Steps between two evaluations; the last step is always evaluated. Default: `saveSteps`. */
  evalSteps: {
    schema: wholeNumber(1),
    onResume: "none",
    synonyms: ["eval-every", "eval-strategy", "steps-per-eval"],
  },
  /**
   * Longest row in tokens, at most the model's context. A longer conversation is truncated, or skipped
   * if no answer remains; a longer text is split. Default: the model's context; of a pretrained
   * model at most 1,024.
   */
  maxLength: {
    schema: wholeNumber(2),
    onResume: "other losses",
    synonyms: ["max-seq-length", "max-seq-len", "cutoff-len", "sequence-len", "context-length"],
  },
} as const satisfies Options;

/** The options above, as the project sets them and as a config has them. */
export type LengthOptions = Partial<Values<typeof LENGTH_ARGUMENTS>>;
export type LengthArguments = OrNone<Values<typeof LENGTH_ARGUMENTS>>;

/** Options that Kit itself implements, for every engine. */
export const JOB_ARGUMENTS = {
  /**
   * Maximum number of checkpoints to keep. The newest and the best always stay and count among them, so
   * that 1 may keep two. An older one is removed once its `onCheckpoint` has returned. Default: all.
   */
  saveTotalLimit: {
    schema: wholeNumber(1),
    onResume: "none",
    synonyms: ["save-limit"],
  },
  /**
   * Makes the best checkpoint, by `metricForBestModel`, the last of `artifacts`; needs `evalDataset` or
   * `evalSplit`, and for `evalLoss` a `saveSteps` that is a multiple of `evalSteps`. Default `false`.
   */
  loadBestModelAtEnd: {
    schema: v.boolean("true or false"),
    default: false,
    onResume: "none",
    synonyms: ["load-best", "load-best-model"],
  },
  /** Metric that compares checkpoints: one of `evaluate` or `objective`, or `"evalLoss"`, the default. */
  metricForBestModel: {
    schema: line,
    default: EVAL_LOSS,
    onResume: "none",
    synonyms: ["metric", "best-metric"],
  },
  /** Whether a higher value is better. Default: `false` for `"evalLoss"`, as the objective has it, or `true`. */
  greaterIsBetter: {
    schema: v.boolean("true or false"),
    onResume: "none",
    synonyms: [],
  },
  /**
   * Stops training after this many evaluations in a row without a new best; needs
   * `loadBestModelAtEnd`. Default: never.
   */
  earlyStoppingPatience: {
    schema: wholeNumber(1),
    onResume: "none",
    synonyms: ["patience", "early-stopping"],
  },
  /**
   * Also writes the log for TensorBoard: event files in the job's folder, `.kit/jobs/<id>/tensorboard/`.
   * Default: none.
   */
  reportTo: {
    schema: oneOf("tensorboard"),
    onResume: "none",
    synonyms: ["tensorboard", "log-with", "logger"],
  },
  /**
   * Continues from the newest checkpoint of this trainer's newest failed or cancelled job, as if it had
   * never stopped; starts over without one. Default `false`.
   */
  resume: {
    schema: v.boolean("true or false"),
    default: false,
    onResume: "none",
    synonyms: [],
  },
} as const satisfies Options;

type JobValues = Values<typeof JOB_ARGUMENTS>;
type WithoutDefault = "saveTotalLimit" | "earlyStoppingPatience" | "reportTo";

/** Options that Kit itself implements, for every engine. */
export type JobArguments = Omit<JobValues, WithoutDefault> &
  OrNone<Pick<JobValues, WithoutDefault>>;

/** All plain options. */
export const PLAIN_OPTIONS = { ...TRAINING_ARGUMENTS, ...LENGTH_ARGUMENTS, ...JOB_ARGUMENTS };

/** One field of each option. */
export function fieldOf<const Field extends keyof TrainerOption, Of extends Options>(
  options: Of,
  field: Field,
): { [K in keyof Of]: Of[K][Field] } {
  const values = Object.entries(options).map(([name, option]) => [name, option[field]]);
  return Object.fromEntries(values) as { [K in keyof Of]: Of[K][Field] };
}

/** The defaults for this kind of training. */
export function defaultsOf(kind: TrainingKind): TrainingArguments {
  const values = Object.entries(TRAINING_ARGUMENTS as Options).map(([name, option]) => [
    name,
    option[kind] ?? option.default,
  ]);
  return Object.fromEntries(values) as TrainingArguments;
}
