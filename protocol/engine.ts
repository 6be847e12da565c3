import type { Artifact, EngineEvent } from "./event.ts";
import type { InferRequest, InferResult } from "./infer.ts";
import type { TrainConfig } from "./trainConfig.ts";

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
  /** Takes a line for people on what takes long, such as reading the data. No part of the log. */
  onNote?: (text: string) => void;
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
