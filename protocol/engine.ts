import type { EngineEvent } from "./event.ts";
import type { QuantizedType } from "./exportFormat.ts";
import type { AnswerStream, InferPiece, InferRequest, InferResult } from "./infer.ts";
import type { ObjectiveType } from "./objective.ts";
import type { TrainingOptions, TrainConfig } from "./trainConfig.ts";
import type { TrainingCheck } from "./trainingCheck.ts";

/** A saved model, ready to answer. */
export interface LoadedModel {
  /**
   * Answers a prompt or goes on with a conversation.
   * @throws KitError `REQUEST_INVALID` naming what is wrong with the request
   * @example
   * const model = await loadModel(".kit/jobs/<id>");
   * const { text } = await model.infer({ messages: [{ role: "user", content: "7th of March 1998" }] });
   */
  infer: (request: InferRequest) => Promise<InferResult>;
  /**
   * Answers piece by piece. Breaking off the loop ends the answer.
   * @throws KitError as `infer`, when the first piece is asked for
   * @example
   * const model = await loadModel(".kit/jobs/<id>");
   * const answer = model.stream({ prompt: "7th of March 1998" });
   * for await (const text of answer) process.stdout.write(text);
   * const { tokens } = await answer.result;
   */
  stream: (request: InferRequest) => AnswerStream;
  /** Frees the memory of the model. Idempotent. */
  close: () => Promise<void>;
}

/** A model as an engine has loaded it. */
export interface EngineModel {
  /**
   * Answers as `LoadedModel.infer`. A request's integers beyond 2^53 are `bigint`, which `JSON.stringify` refuses.
   * @param onPiece takes the answer's parts as they come; an engine may leave it uncalled
   */
  infer: (request: InferRequest, onPiece?: (piece: InferPiece) => void) => Promise<InferResult>;
  /** Rejects as `infer` for what the model cannot take, and answers nothing. Default: `infer` alone tells. */
  check?: (request: InferRequest) => Promise<void>;
  /** Frees the memory of the model. Idempotent. */
  close: () => Promise<void>;
}

/** What an engine trains, and where its reports go. */
export interface TrainOptions {
  /** As `prepare` returned it, with absolute paths. */
  config: TrainConfig;
  /** Absolute path of the job's directory; artifacts go to `artifacts/` in it. */
  directory: string;
  /**
   * Absolute path of a checkpoint of another job of this engine: the training goes on after its step.
   * If it has its `resumeFiles`, the losses and weights are those of a training that was never
   * interrupted; else a note says that they are not.
   */
  resumeFrom?: string;
  /**
   * Aborting stops the training before its next step; `train` then rejects with the reason, or with
   * `CLUSTER_UNREACHABLE` or `CLUSTER_REFUSED` when one that goes on remotely could not be stopped.
   */
  signal: AbortSignal;
  /** Aborting detaches from a remote training, which goes on; `train` then rejects with the reason. */
  leave?: AbortSignal;
  /** Called with the remote location just before the training is handed over. */
  onRemote?: (location: RemoteLocation) => void;
  /** Takes each event as it happens, in order. A checkpoint is complete on disk before its event. */
  onEvent: (event: EngineEvent) => void;
  /**
   * Called with progress during slow steps, such as reading the data. Not part of the log. Default:
   * ignored.
   */
  onNote?: (text: string) => void;
}

/** How an engine loads a model. */
export interface LoadOptions extends Pick<TrainOptions, "onNote"> {
  /** Aborting ends a download, and closes a model that other machines have loaded. Default: none. */
  signal?: AbortSignal;
  /**
   * What the embedded engine turns the model's matrices into while it reads them, in GGUF's blocks: faster, in less
   * memory, and a little less exact. Default: they keep the type in which they were saved, or
   * that an adapter's base had in training.
   */
  quantize?: QuantizedType;
}

export interface CheckOptions extends Pick<TrainOptions, "onNote"> {
  /** As `prepare` returned it, with absolute paths. */
  config: TrainConfig;
  /** Whether to measure the loss of at most 200 rows under the starting model. */
  loss?: boolean | undefined;
  /** Aborting ends a check on other machines; `check` then rejects with the reason. */
  signal?: AbortSignal;
}

export interface FollowOptions extends Omit<TrainOptions, "resumeFrom" | "onRemote"> {
  location: RemoteLocation;
  /** How many of its events an earlier process has reported. */
  seen: number;
}

/** How much of an artifact is here. */
export interface FetchProgress {
  bytes: number;
  totalBytes: number;
}

export interface FetchOptions extends Pick<TrainOptions, "onNote"> {
  /** Absolute path of the artifact's folder. */
  directory: string;
  /** Aborting ends the transfer; the next one keeps complete files. Default: none. */
  signal?: AbortSignal;
  /** Default: notes. */
  onProgress?: (progress: FetchProgress) => void;
}

/** Trainings on other machines, which continue when this process ends. */
export interface RemoteTraining {
  /**
   * Checks within seconds that the job's machines answer.
   * @throws KitError `CLUSTER_UNREACHABLE`, `CLUSTER_REFUSED`; `CANNOT_FOLLOW` if others than the job's
   * machines may answer
   */
  reach: (location: RemoteLocation, id: string) => Promise<void>;
  /** Continues reporting a remote training after `seen` events. */
  follow: (options: FollowOptions) => Promise<void>;
  /**
   * Downloads a remote artifact and checks it; it gets its name once complete. Does nothing for a local
   * one. Concurrent calls, also of several processes, transfer it once.
   * @throws KitError `CLUSTER_UNREACHABLE`, `CLUSTER_REFUSED`, `CHECKPOINT_INVALID` when it is gone
   * there, `CHECKPOINT_UNWRITABLE`
   */
  fetch: (options: FetchOptions) => Promise<void>;
}

/**
 * Trains models and answers from them. Every engine passes the tests of `tests/engines/contract.ts`.
 * Its caller checks its reports, because an engine may be another program.
 */
export interface Engine {
  /** Shown in errors and in a job's record. */
  readonly name: string;
  /**
   * Names of a checkpoint's files that only `resumeFrom` needs, such as the optimizer's state. Kit
   * deletes them where nothing resumes: in older checkpoints, and once the job is completed.
   */
  readonly resumeFiles?: readonly string[];
  /** Objectives that it trains, other than `sft`. Kit refuses the rest before `prepare`. Default: none. */
  readonly objectives?: readonly Exclude<ObjectiveType, "sft">[];
  /**
   * Checks a config and fills in its defaults when `createTrainer` is called: at once, without
   * loading anything heavy or touching the disk.
   * @throws KitError `MODEL_UNKNOWN`, `MODEL_INVALID`, `CONFIG_INVALID` naming the option
   */
  prepare: (asked: TrainingOptions) => TrainConfig;
  /**
   * Reads what a training would read, without training.
   * @throws the KitError that `train` would throw
   */
  check: (options: CheckOptions) => Promise<TrainingCheck>;
  /**
   * Trains a model; resolves when its last checkpoint is saved.
   * @throws KitError `DATASET_UNREADABLE`, `DATASET_INVALID`, or another code of a training;
   * `CLUSTER_UNREACHABLE`, `CLUSTER_REFUSED` or `CANNOT_FOLLOW` after `onRemote` for one that may go on
   * elsewhere;
   * `RESUME_INVALID` if `resumeFrom` is damaged, so that Kit tries an older one
   */
  train: (options: TrainOptions) => Promise<void>;
  /** Only for engines that call `onRemote`. */
  readonly remote?: RemoteTraining;
  /**
   * Loads a saved artifact, here or where its files are, and downloads what it needs; a training in
   * progress goes on undisturbed.
   * @throws KitError `CHECKPOINT_INVALID`
   */
  load: (directory: string, options?: LoadOptions) => Promise<EngineModel>;
}

/** A model of the hub on this machine, as a trainer without an engine of its own sees it. */
export interface CachedModel {
  /** `org/name`, with `@revision` unless that is `main`. */
  name: string;
  /** Total of all its files. */
  bytes: number;
  /** Such as `LlamaForCausalLM`, if its configuration says so. */
  architecture: string | undefined;
  /** A count, of a model that can be read. */
  parameters: number | undefined;
  /** Why it cannot be trained. */
  problem: string | undefined;
}

/** Where a training runs that goes on when its owner's process here ends. Holds no token. */
export interface RemoteLocation {
  /** As sentences name it: `the Ray cluster at http://head:8265`. */
  where: string;
  /** With which the engine finds it again. */
  address: string;
  /** Where it keeps its checkpoints: a path there, or a URL. */
  checkpoints: string;
  /** Identifies the cluster that took the job, in case another one answers at its address later. */
  session?: string;
  /** Marks the job's own lines in its log there. Missing in records of an older Kit. */
  secret?: string;
}
