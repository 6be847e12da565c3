import type { EngineEvent } from "./event.ts";
import type { InferRequest, InferResult } from "./infer.ts";
import type { AskedConfig, TrainConfig } from "./trainConfig.ts";

/** A saved model, loaded to answer. */
export interface LoadedModel {
  infer: (request: InferRequest) => Promise<InferResult>;
  /** Frees what the model holds. Idempotent. */
  close: () => Promise<void>;
}

export interface TrainOptions {
  /** As `prepare` returned it, with absolute paths. */
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

/**
 * What trains. Each engine passes the tests of `tests/engines/contract.ts`.
 * Its caller checks what it reports: an engine may be another program.
 */
export interface Engine {
  /** Shown in errors and in a job's record. */
  readonly name: string;
  /**
   * Checks a run and fills in its defaults, when `createTrainer` is called: at once, without
   * loading anything heavy or touching the disk.
   * @throws KitError whose message begins with the option that is wrong
   */
  prepare: (asked: AskedConfig) => TrainConfig;
  /**
   * Trains a model; resolves when its last checkpoint is saved.
   * @throws KitError whose message says what to do when the config or the dataset is wrong
   */
  train: (options: TrainOptions) => Promise<void>;
  /**
   * Loads a saved artifact; does not disturb a training that goes on.
   * @throws KitError `CHECKPOINT_INVALID`
   */
  load: (directory: string) => Promise<LoadedModel>;
}
