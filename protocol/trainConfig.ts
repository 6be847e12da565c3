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
  /** Adapted linear layers by the engine's names, such as `q_proj`. */
  targetModules: string[];
  /**
   * Type to which the embedded engine quantizes the frozen base as it reads it: half of bfloat16's memory.
   * Default: the saved type; `"q8_0"` if that doesn't fit in memory.
   */
  baseType?: BaseType;
}

/** Types for a frozen base; not q4_0, on which an adapter learns less. */
export const BASE_TYPES = ["q8_0"] as const satisfies QuantizedType[];
export type BaseType = (typeof BASE_TYPES)[number];

/** Every linear layer of the model but its head, as in PEFT. */
export const ALL_LINEAR = "all-linear";

export interface LoraTrainingOptions extends Partial<Omit<LoraConfig, "targetModules">> {
  /** Default: every linear layer. */
  targetModules?: typeof ALL_LINEAR | string[];
}

/** Training options. The engine fills in the defaults. */
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
  /** Trains an adapter instead of the whole model. Default: the whole model. */
  lora?: LoraTrainingOptions;
  /** The objective, which determines the format of rows. Default: `sft`. */
  objective?: ObjectiveOptions;
}

/** An engine's name, and those of its settings that a job's record shows. */
export interface EngineSettings {
  name: string;
  [setting: string]: string | number | boolean;
}

/**
 * Training options with every default filled in; plain data, written to job.json without undefined values. Exactly one of
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
  /** Undefined: `sft`. */
  objective: Exclude<ObjectiveConfig, SftObjective> | undefined;
}

/** The `evaluate` option in a job's record. */
export interface EvaluateConfig {
  /** Names of the trainer's metrics. */
  metrics: string[];
  rows: number;
  maxTokens?: number;
  temperature?: number;
}

/** All settings of a job, as in job.json. */
export interface JobConfig extends TrainConfig, JobArguments {
  /** Undefined: no evaluation. */
  evaluate?: EvaluateConfig | undefined;
}

/** Whether a model has weights; Kit's presets and shapes start from random ones. */
export function isPretrained(model: string | ModelShape): model is string {
  return typeof model === "string" && !model.startsWith("kit/");
}

/** Whether a model's name is a path: it begins with `.` or is absolute. */
export function isModelPath(model: string): boolean {
  return /^(\.|[\\/]|[A-Za-z]:[\\/])/.test(model);
}

/** Rows per optimizer step. */
export function rowsPerStep(
  config: Pick<TrainConfig, "batchSize" | "gradientAccumulationSteps">,
): number {
  return config.batchSize * config.gradientAccumulationSteps;
}

/** Kit's presets, which start from random weights. */
export type PresetName = "kit/nano" | "kit/small";
