import type { Artifact, EngineEvent } from "./event.ts";

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
  /** Rank of the update. */
  r: number;
  /** The update is scaled by `alpha / r`. */
  alpha: number;
  /** Llama's projection names, such as `q_proj`. */
  targetModules: string[];
}

/** A run with every default filled in; plain data, written to the job as it is. */
export interface TrainConfig {
  /** A preset's name, a shape, or the absolute path of a checkpoint directory. */
  model: string | ModelShape;
  dataset: {
    type: "jsonl";
    /** Absolute. */
    path: string;
  };
  lora: LoraConfig | null;
  maxSteps: number;
  /** Rows a step. */
  batchSize: number;
  /** Longest row in tokens; null means the model's context. */
  maxLength: number | null;
  /** Peak of the schedule: linear warm-up, then cosine to a tenth of it. */
  learningRate: number;
  warmupSteps: number;
  /** Decoupled, as in AdamW. */
  weightDecay: number;
  /** The gradient's global L2 norm is clipped to this. */
  maxGradNorm: number;
  /** Steps between two `training.log` events; the first two steps and the last are always logged. */
  loggingSteps: number;
  /** Steps between two checkpoints; the last step is always saved. */
  saveSteps: number;
  /** Decides the initial weights and the order of the rows: the same seed, the same losses. */
  seed: number;
}

export interface ChatMessage {
  role: "system" | "user" | "assistant";
  content: string;
}

/** What to continue: a conversation or a bare text, and how to choose its tokens. */
export type InferRequest = ({ messages: ChatMessage[] } | { prompt: string }) & {
  /** Most tokens to generate. Default: what is left of the model's context. */
  maxTokens?: number;
  /** 0, the default, always takes the likeliest token. */
  temperature?: number;
  /** Sample among the likeliest tokens that together hold this much probability. Default 1. */
  topP?: number;
  /** Seed of the sampling. Default 0. */
  seed?: number;
  signal?: AbortSignal;
};

export interface InferResult {
  text: string;
  /** `stop`: the model ended its answer; `length`: `maxTokens` or the context ran out. */
  finishReason: "stop" | "length";
  /** Generated tokens, a count. */
  tokens: number;
}

/** A saved model, loaded to answer. */
export interface LoadedModel {
  infer: (request: InferRequest) => Promise<InferResult>;
  /** Frees what the model holds. Idempotent. */
  close: () => Promise<void>;
}

export interface TrainOptions {
  config: TrainConfig;
  /** Absolute path of the job's directory; artifacts go to `artifacts/` in it. */
  directory: string;
  /** Aborting stops the training before its next step; `train` then rejects with the reason. */
  signal: AbortSignal;
  /** Takes each event as it happens, in order. A checkpoint is complete on disk before its event. */
  onEvent: (event: EngineEvent) => void;
}

/** What trains. The embedded engine is the first; others can stand beside it. */
export interface Engine {
  /**
   * Trains a model and resolves with what was saved, oldest first.
   * @throws an error whose message says what to do, when the config or the dataset is wrong
   */
  train: (options: TrainOptions) => Promise<Artifact[]>;
  /** Loads a saved artifact; does not disturb a training that goes on. */
  load: (directory: string) => Promise<LoadedModel>;
}
