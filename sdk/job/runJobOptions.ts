import type { OwnedJob } from "../../jobs/ownedJob.ts";
import type { JobHistory } from "../../jobs/remote/attach.ts";
import type { ResumePoint } from "../../jobs/resumePoint.ts";
import type { Engine } from "../../protocol/engine.ts";
import type { Metrics } from "../../protocol/metric.ts";
import type { JobConfig } from "../../protocol/trainConfig.ts";
import type { TrainerCallbacks } from "../callbacks.ts";
import type { Observer } from "./observer.ts";
import type { TrainFromOptions } from "./trainFrom.ts";

export interface RunJobOptions {
  job: OwnedJob;
  config: JobConfig;
  engine: Pick<Engine, "name" | "resumeFiles" | "load" | "remote">;
  callbacks: TrainerCallbacks;
  /** The project's own, if it has some. */
  metrics?: Metrics | undefined;
  /**
   * Trains once it may, until the training is over.
   * @returns whether it was `onEvent` that ended it
   */
  train: (options: JobTraining) => Promise<boolean>;
  recorded?: JobHistory;
  /** The step at which the job stands until its first event. Default 0. */
  startsAt?: () => number;
  /** Aborting cancels the job. */
  cancel: AbortSignal;
  /** Aborting fails the job with the reason, unless `cancel` came first. */
  failure: AbortController;
  /** Aborting lets a job that runs remotely go on there, with no end in its log. */
  leave?: AbortSignal;
  observer: Pick<Required<Observer>, "onEvent" | "onNote" | "onRemote" | "onLeft">;
  /** How long a callback may take. Default: an hour. */
  callbackLimitMs?: number;
}

/** What a training is started with; `isOver` means that a recorded event has already ended it. */
export interface JobTraining extends TrainFromOptions {
  leave: AbortSignal;
  isOver: boolean;
  /**
   * To be awaited before the training: asks the model that it starts from.
   * @param config with the datasets as engines read them
   */
  beforeTraining: (config: JobConfig, from: ResumePoint | undefined) => Promise<void>;
}
