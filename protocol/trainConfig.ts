import type { DatasetConfig } from "./dataset.ts";
import type { AskedObjective, DpoObjective, KtoObjective } from "./objective.ts";
import type { QuantizedType } from "./quantizedType.ts";

/** Sizes of a Llama-architecture model that starts from random weights. */
export interface ModelShape {
  /** Transformer blocks. */
  layers: number;
  /** Attention heads; divides `width` into an even head size. */
  heads: number;
  /** Size of the hidden state. */
  width: number;
  /** Longest sequence, in tokens. */
  context: number;
}

/** Low-rank adaptation, with PEFT's names: the base model is frozen, an adapter is trained. */
export interface LoraConfig {
  /** Rank of the update. Default 16. */
  r: number;
  /** The update is scaled by `alpha / r`. Default: twice `r`. */
  alpha: number;
  /** The linear maps that are adapted, by the names that the engine gives them, such as `q_proj`. */
  targetModules: string[];
  /**
   * What the embedded engine turns the frozen model's matrices into while it reads them: half of bfloat16's memory.
   * Default: the type in which they were saved; `"q8_0"` where that doesn't fit in memory.
   */
  baseType?: BaseType;
}

/** Types that a frozen model can be converted to. On one in q4_0, an adapter learns less. */
export const BASE_TYPES = ["q8_0"] as const satisfies QuantizedType[];
export type BaseType = (typeof BASE_TYPES)[number];

/** How the learning rate goes on after the warm-up: to a tenth of its peak, to 0, or as it is. */
export const SCHEDULERS = ["cosine", "linear", "constant"] as const;

/** How to train, by the names of Hugging Face's `TrainingArguments`. */
export interface TrainingArguments {
  /** Rows per batch. Default 32; for a pretrained model 4. */
  batchSize: number;
  /**
   * Batches of an optimizer step, whose gradients are added up: a step of 2 × 16 rows is one of
   * 1 × 32, which `python()` trains in half the memory. Default 1.
   */
  gradientAccumulationSteps: number;
  /**
   * Peak of the schedule. Default 0.004. For a pretrained model 0.00002, for an adapter of one 0.0002.
   * For the objectives `"dpo"` and `"kto"` 0.000001, with `lora` 0.00001.
   */
  learningRate: number;
  /** After a linear warm-up. Default `"cosine"`. */
  lrSchedulerType: (typeof SCHEDULERS)[number];
  /** Optimizer steps, or below 1 a share of all. Default 20. */
  warmupSteps: number;
  /** Decoupled, as in AdamW. Default 0.01. */
  weightDecay: number;
  /** The gradient's global L2 norm is clipped to this. Default 1. */
  maxGradNorm: number;
  /** Steps between two `training.log` events; the first two, the last and the evaluated ones are always logged. Default 5. */
  loggingSteps: number;
  /** Steps between two checkpoints; the last step is always saved. Default 100. */
  saveSteps: number;
  /** Decides the initial weights and the order of the rows: the same seed, the same losses. Default 42. */
  seed: number;
}

/** Stands for every linear map of the model but its head, as in PEFT. */
export const ALL_LINEAR = "all-linear";

export interface AskedLora extends Partial<Omit<LoraConfig, "targetModules">> {
  /** Default: every linear map. */
  targetModules?: typeof ALL_LINEAR | string[];
}

/** A training as the project asks for it. The engine fills in the defaults. */
export interface AskedConfig extends Partial<TrainingArguments> {
  /** A preset's name, a shape, the path of a checkpoint directory, or a name on the hub. */
  model?: string | ModelShape;
  /** Rows to learn from: `{ type: "jsonl", path }`, with a JSON object on each line of the files. */
  dataset: DatasetConfig;
  /** Optimizer steps, unless `numTrainEpochs` is set. Default 400. */
  maxSteps?: number;
  /** Passes over the dataset, in place of `maxSteps`; may be a fraction, at most 1,000,000. */
  numTrainEpochs?: number;
  /**
   * Rows to evaluate on, which are not trained on: the loss on them is `evalLoss`. Default: none, and
   * nothing is evaluated.
   */
  evalDataset?: DatasetConfig;
  /** In place of `evalDataset`: a share of the dataset's rows, between 0 and 1, which the seed sets aside. */
  evalSplit?: number;
  /** Steps between two evaluations; the last step is always evaluated. Default: `saveSteps`. */
  evalSteps?: number;
  /** Trains an adapter and leaves the model as it is. Default: the whole model is trained. */
  lora?: AskedLora;
  /** What is learned from the rows, which are of its own form. Default: right answers. */
  objective?: AskedObjective;
  /**
   * Longest row in tokens, at most the model's context. A longer conversation loses its end, or is left
   * out if no answer remains; a longer text is split. Default: the model's context; of a pretrained
   * model at most 1,024.
   */
  maxLength?: number;
}

/** An engine's name, and settings of its own that a job's record should show. */
export interface EngineSettings {
  name: string;
  [setting: string]: string | number | boolean;
}

/** A training with every default filled in; plain data, written to job.json without what is undefined. */
export interface TrainConfig extends TrainingArguments {
  engine: EngineSettings;
  model: string | ModelShape;
  dataset: DatasetConfig;
  /** Exactly one of the two is set. */
  maxSteps: number | undefined;
  numTrainEpochs: number | undefined;
  /** At most one is set; without either, nothing is evaluated. */
  evalDataset: DatasetConfig | undefined;
  evalSplit: number | undefined;
  /** Without effect if nothing is evaluated. */
  evalSteps: number;
  lora: LoraConfig | undefined;
  /** Undefined: right answers. */
  objective: DpoObjective | KtoObjective | undefined;
  /** Undefined: the default, which needs the model's context. */
  maxLength: number | undefined;
}

/** Options that Kit itself implements, so they work with every engine. */
export interface JobArguments {
  /**
   * Maximum number of checkpoints to keep. The newest and the best always stay and count among them, so
   * that 1 may keep two. An older one is removed once its `onCheckpoint` has returned. Default: all.
   */
  saveTotalLimit: number | undefined;
  /**
   * Makes the best checkpoint, by `metricForBestModel`, the last of `artifacts`; needs `evalDataset` or
   * `evalSplit`, and for `evalLoss` a `saveSteps` that is a multiple of `evalSteps`. Default `false`.
   */
  loadBestModelAtEnd: boolean;
  /** By which checkpoints are compared: a metric of `evaluate` or of `objective`, or `"evalLoss"`, the default. */
  metricForBestModel: string;
  /** Whether a higher figure is better. Default: `false` for `"evalLoss"`, as the objective has it, or `true`. */
  greaterIsBetter: boolean;
  /**
   * Ends the training after this many evaluations in a row without a new best; needs
   * `loadBestModelAtEnd`. Default: never.
   */
  earlyStoppingPatience: number | undefined;
  /**
   * Goes on from the newest checkpoint of this trainer's newest job that failed or was cancelled, as
   * if it had never stopped; starts anew without one. Default `false`.
   */
  resume: boolean;
}

/** The `evaluate` option as a job's record has it. */
export interface EvaluateConfig {
  /** Names, as of the trainer's functions. */
  metrics: string[];
  rows: number;
  maxTokens?: number;
  temperature?: number;
}

/** All of a job's settings, as job.json has them. */
export interface JobConfig extends TrainConfig, JobArguments {
  /** Undefined: no evaluation. */
  evaluate?: EvaluateConfig | undefined;
}

/** Whether a model has weights to go on from; Kit's own names and shapes start from random ones. */
export function isPretrained(model: string | ModelShape): model is string {
  return typeof model === "string" && !model.startsWith("kit/");
}

/** Whether a model's name is the path of a checkpoint: it begins with `.` or is absolute. */
export function isModelPath(model: string): boolean {
  return /^(\.|[\\/]|[A-Za-z]:[\\/])/.test(model);
}

/** Rows that an optimizer step learns from. */
export function rowsPerStep(
  config: Pick<TrainConfig, "batchSize" | "gradientAccumulationSteps">,
): number {
  return config.batchSize * config.gradientAccumulationSteps;
}
