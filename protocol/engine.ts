import type { EngineEvent } from "./event.ts";
import type { QuantizedType } from "./exportFormat.ts";
import type { AnswerStream, InferDelta, InferRequest, InferResult } from "./infer.ts";
import type { ObjectiveType } from "./objective.ts";
import type { TrainingOptions, TrainConfig } from "./trainConfig.ts";
import type { TrainingCheck } from "./trainingCheck.ts";

/** A loaded model. */
export interface LoadedModel {
  /**
   * Answers a prompt or continues a conversation.
   * @throws KitError `REQUEST_INVALID` naming the problem
   * @example
   * const model = await loadModel(".kit/jobs/<id>");
   * const { text } = await model.infer({ messages: [{ role: "user", content: "7th of March 1998" }] });
   */
  infer: (request: InferRequest) => Promise<InferResult>;
  /**
   * Streams the answer's text. Breaking out of the loop stops the model.
   * @throws KitError as `infer`, on the first read
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

/** A model loaded by an engine. */
export interface EngineModel {
  /**
   * Answers as `LoadedModel.infer`. A request's integers beyond 2^53 are `bigint`, which `JSON.stringify` rejects.
   * @param onDelta called with deltas as they arrive, if the engine streams
   */
  infer: (request: InferRequest, onDelta?: (delta: InferDelta) => void) => Promise<InferResult>;
  /** Validates a request without answering; rejects like `infer`. Default: only `infer` validates. */
  check?: (request: InferRequest) => Promise<void>;
  /** Frees the memory of the model. Idempotent. */
  close: () => Promise<void>;
}

/** What an engine trains, and the callbacks for its reports. */
export interface TrainOptions {
  /** As `prepare` returned it, with absolute paths. */
  config: TrainConfig;
  /** Absolute path of the job's directory; artifacts go to `artifacts/` in it. */
  directory: string;
  /**
   * Absolute path of another job's checkpoint by this engine; training continues after its step. With its
   * `resumeFiles`, losses and weights equal those of an uninterrupted run; without them they may differ, and a note
   * says so.
   */
  resumeFrom?: string;
  /**
   * Aborting stops training before its next step; `train` then rejects with the reason, or with
   * `CLUSTER_UNREACHABLE` or `CLUSTER_REFUSED` if a remote run could not be stopped.
   */
  signal: AbortSignal;
  /** Aborting detaches from a remote run, which continues; `train` then rejects with the reason. */
  detachSignal?: AbortSignal;
  /** Called with the remote location just before the engine submits the run. */
  onRemote?: (location: RemoteLocation) => void;
  /** Called with each event, in order. A checkpoint is complete on disk before its event. */
  onEvent: (event: EngineEvent) => void;
  /**
   * Called with progress during slow steps, such as reading the data. The job's page shows only two
   * of these: `downloading …` (before training) and a slow `saving …`. Default: ignored.
   */
  onNote?: (text: string) => void;
}

/** How an engine loads a model. */
export interface LoadOptions extends Pick<TrainOptions, "onNote"> {
  /** Aborting ends a download, and closes a model that other machines have loaded. Default: none. */
  signal?: AbortSignal;
  /**
   * GGUF type to which the embedded engine quantizes the model's matrices as it reads them: faster, less
   * memory, slightly less exact. Default: the saved type; for an adapter, the type its base had
   * during training.
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
  /** Number of events that earlier processes reported. */
  seen: number;
}

/** Progress of a fetch. */
export interface FetchProgress {
  bytes: number;
  totalBytes: number;
}

export interface FetchOptions extends Pick<TrainOptions, "onNote"> {
  /** Absolute path of the artifact's folder. */
  directory: string;
  /** Aborting ends the transfer; the next one keeps complete files. Default: none. */
  signal?: AbortSignal;
  /** Default: progress goes to `onNote`. */
  onProgress?: (progress: FetchProgress) => void;
}

/** Remote training runs, which continue when this process ends. */
export interface RemoteTraining {
  /**
   * Checks within seconds that the job's machines answer.
   * @throws KitError `CLUSTER_UNREACHABLE`, `CLUSTER_REFUSED`; `CANNOT_FOLLOW` if the responding
   * machines may not be the job's
   */
  reach: (location: RemoteLocation, id: string) => Promise<void>;
  /** Reports a remote run's events after the first `seen`. */
  follow: (options: FollowOptions) => Promise<void>;
  /**
   * Downloads and verifies a remote artifact, which gets its final name once complete. Does nothing for a
   * local one. Concurrent calls, even from several processes, transfer it once.
   * @throws KitError `CLUSTER_UNREACHABLE`, `CLUSTER_REFUSED`, `CHECKPOINT_INVALID` if it was deleted,
   * `CHECKPOINT_UNWRITABLE`
   */
  fetch: (options: FetchOptions) => Promise<void>;
}

/**
 * Trains models and runs inference. Every engine passes `tests/engines/contract.ts`. Its reports are
 * validated, because an engine may be another program.
 */
export interface Engine {
  /** Name in errors and in job records. */
  readonly name: string;
  /**
   * Names of a checkpoint's files that only `resumeFrom` needs, such as the optimizer's state. Kit
   * deletes them once unneeded: in older checkpoints, and when the job is completed.
   */
  readonly resumeFiles?: readonly string[];
  /** Set if the default engine answers with what it trains. */
  readonly trainsOnly?: true;
  /** Objectives it trains besides `sft`. Kit refuses others before `prepare`. Default: none. */
  readonly objectives?: readonly Exclude<ObjectiveType, "sft">[];
  /**
   * Checks a config and fills in its defaults when `createTrainer` is called: at once, without
   * loading anything heavy or touching the disk.
   * @throws KitError `MODEL_UNKNOWN`, `MODEL_INVALID`, `CONFIG_INVALID` naming the option
   */
  prepare: (options: TrainingOptions) => TrainConfig;
  /**
   * Checks what `train` would read, without training.
   * @throws the KitError that `train` would throw
   */
  check: (options: CheckOptions) => Promise<TrainingCheck>;
  /**
   * Trains a model; resolves when its last checkpoint is saved.
   * @throws KitError `DATASET_UNREADABLE`, `DATASET_INVALID`, or another training error;
   * `CLUSTER_UNREACHABLE`, `CLUSTER_REFUSED` or `CANNOT_FOLLOW` after `onRemote` if the run may continue;
   * `RESUME_INVALID` if `resumeFrom` is damaged, so that Kit tries an older one
   */
  train: (options: TrainOptions) => Promise<void>;
  /** Only for engines that call `onRemote`. */
  readonly remote?: RemoteTraining;
  /**
   * Loads a saved artifact, on this machine or where its files are, and downloads what it needs. Does not
   * interrupt training.
   * @throws KitError `CHECKPOINT_INVALID`
   */
  load: (directory: string, options?: LoadOptions) => Promise<EngineModel>;
}

/** A hub model in this machine's cache, as the default engine sees it. */
export interface CachedModel {
  /** `org/name`, with `@revision` unless that is `main`. */
  name: string;
  /** Total of all its files. */
  bytes: number;
  /** Such as `LlamaForCausalLM`, if its configuration says so. */
  architecture: string | undefined;
  /** Number of parameters, if the model can be read. */
  parameters: number | undefined;
  /** Why it cannot be trained. */
  problem: string | undefined;
}

/** Where a remote training run takes place. Contains no access token. */
export interface RemoteLocation {
  /** Its name in sentences: `the Ray cluster at http://head:8265`. */
  where: string;
  /** Address at which the engine reconnects to it. */
  address: string;
  /** Where it keeps its checkpoints: a path on the cluster, or a URL. */
  checkpoints: string;
  /** Identifies the cluster that accepted the job, in case another one answers at its address later. */
  session?: string;
  /**
   * Random text that marks Kit's own lines in the job's log on the cluster; grants no access. Missing in
   * records of an older Kit.
   */
  secret?: string;
}
