import type { DatasetConfig } from "./dataset.ts";
import type { QuantizedType } from "./exportFormat.ts";
import type { ObjectiveOptions, ObjectiveConfig, SftObjective } from "./objective.ts";
import type {
  LengthOptions,
  JobArguments,
  LengthArguments,
  TrainingArguments,
} from "./trainerOptions.ts";

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

/** Stands for every linear map of the model but its head, as in PEFT. */
export const ALL_LINEAR = "all-linear";

export interface LoraTrainingOptions extends Partial<Omit<LoraConfig, "targetModules">> {
  /** Default: every linear map. */
  targetModules?: typeof ALL_LINEAR | string[];
}

/** A training as the project asks for it. The engine fills in the defaults. */
export interface TrainingOptions extends Partial<TrainingArguments>, LengthOptions {
  /** A preset's name, a shape, the path of a checkpoint directory, or a name on the hub. */
  model?: string | ModelShape;
  /** Rows to learn from: `{ type: "jsonl", path }`, with a JSON object on each line of the files. */
  dataset: DatasetConfig;
  /**
   * Rows to evaluate on, which are not trained on: the loss on them is `evalLoss`. Default: none, and
   * nothing is evaluated.
   */
  evalDataset?: DatasetConfig;
  /** Trains an adapter and leaves the model as it is. Default: the whole model is trained. */
  lora?: LoraTrainingOptions;
  /** What is learned from the rows, which are of its own form. Default: right answers. */
  objective?: ObjectiveOptions;
}

/** An engine's name, and settings of its own that a job's record should show. */
export interface EngineSettings {
  name: string;
  [setting: string]: string | number | boolean;
}

/**
 * A training with every default filled in; plain data, written to job.json without what is undefined. Exactly one of
 * `maxSteps` and `numTrainEpochs` is set, at most one of `evalDataset` and `evalSplit`; without either, nothing is
 * evaluated, and `evalSteps` has no effect. Without `maxLength`, the default needs the model's context.
 */
export interface TrainConfig extends TrainingArguments, LengthArguments {
  engine: EngineSettings;
  model: string | ModelShape;
  dataset: DatasetConfig;
  evalDataset: DatasetConfig | undefined;
  evalSteps: number;
  lora: LoraConfig | undefined;
  /** Undefined: right answers. */
  objective: Exclude<ObjectiveConfig, SftObjective> | undefined;
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

/** Models of sizes that Kit names, which start from random weights. */
export type PresetName = "kit/nano" | "kit/small";
