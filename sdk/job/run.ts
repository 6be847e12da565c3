import type { OwnedJob } from "../../jobs/ownedJob.ts";
import type { JobHistory } from "../../jobs/remote/attach.ts";
import type { ResumePoint } from "../../jobs/resumePoint.ts";
import type { Engine, RemoteLocation } from "../../protocol/engine.ts";
import { cannotWrite, isKitError } from "../../protocol/error.ts";
import { type JobEvent, PREPARING, isFinalEvent } from "../../protocol/event.ts";
import type { Job, JobStatus } from "../../protocol/job.ts";
import type { Metrics } from "../../protocol/metric.ts";
import type { JobConfig } from "../../protocol/trainConfig.ts";
import type { TrainerCallbacks } from "../callbacks.ts";
import { asError } from "../projectCode.ts";
import { type CallbackQueue, createCallbackQueue } from "./callbackQueue.ts";
import { type Checkpoints, createCheckpoints } from "./checkpoints.ts";
import { type JobProgress, createJobProgress } from "./jobProgress.ts";
import type { Observer } from "./observer.ts";

/** Shorter saves aren't reported. */
const SLOW_SAVE_MS = 1_000;

export interface RunJobOptions {
  owned: OwnedJob;
  config: JobConfig;
  engine: Pick<Engine, "name" | "resumeFiles" | "load" | "remote">;
  callbacks: TrainerCallbacks;
  /** The project's own metrics, if any. */
  metrics?: Metrics | undefined;
  /** Resolves once the job may train. */
  prepare: (signals: Pick<Run, "signal" | "detachSignal" | "observer">) => Promise<TrainingInput>;
  recorded?: JobHistory;
  /** The job's step until its first event. Default 0. */
  startsAt?: () => number;
  /** Aborting cancels the job. */
  cancel: AbortSignal;
  /** Aborting fails the job with the reason, unless `cancel` came first. */
  failure: AbortController;
  /** Aborting detaches from a remote job without writing a final event. */
  detachSignal?: AbortSignal;
  observer: Pick<Required<Observer>, "onEvent" | "onNote" | "onRemote" | "onDetached">;
  /** How long a callback may take. Default: an hour. */
  callbackLimitMs?: number;
}

/** What training needs once the job's turn has come. */
export interface TrainingInput {
  engine: Pick<Engine, "name" | "train">;
  /** With the datasets as engines read them. */
  config: JobConfig;
  /** Checkpoints to resume from, in the order `trainFrom` tries them. */
  points: readonly ResumePoint[];
  /** Replaces row locations in an error message with those in the user's files. Default: unchanged. */
  restoreLocations?: (text: string) => string;
}

/** State that one job's phases share. */
export interface Run extends Omit<RunJobOptions, "detachSignal"> {
  /** Aborted when the job is cancelled or fails. */
  signal: AbortSignal;
  /** Aborted when this process detaches from a remote job. */
  detachSignal: AbortSignal;
  /** Aborted when the remote machines are unreachable. */
  unreachable: AbortController;
  /** Aborted when training has ended. */
  trainingEnded: AbortController;
  calls: CallbackQueue;
  checkpoints: Checkpoints;
  progress: JobProgress;
  /** Where a remote job runs. */
  location: RemoteLocation | undefined;
  /** Whether the log has a final event. */
  hasEnded: boolean;
  /** Writes the log, then notifies observers. @throws KitError `CANNOT_WRITE` */
  record: (event: JobEvent) => void;
}

export function createRun(options: RunJobOptions): Run {
  const { owned, engine, callbacks, cancel, failure, recorded } = options;
  const { directory } = owned;
  let hasStarted = recorded !== undefined;
  let slowSave: ReturnType<typeof setTimeout> | undefined;
  const onNote = (text: string) => {
    if (text.startsWith("saving ")) {
      clearTimeout(slowSave);
      // Not printed: the checkpoint has its own line.
      slowSave = setTimeout(report, SLOW_SAVE_MS, text).unref();
      return;
    }
    if (!hasStarted && text.startsWith("downloading ")) report(text);
    options.observer.onNote(text);
  };
  const observer = { ...options.observer, onNote };
  function report(doing: string): void {
    try {
      owned.append({ event: PREPARING, data: { doing } });
    } catch {
      // Progress only; if the log stays unwritable, the next real event fails the job.
    }
  }
  const unreachable = new AbortController();
  const signal = AbortSignal.any([cancel, failure.signal]);
  const detaching = options.detachSignal ? [options.detachSignal] : [];
  const run: Run = {
    ...options,
    observer,
    signal,
    unreachable,
    trainingEnded: new AbortController(),
    detachSignal: AbortSignal.any([...detaching, owned.taken, unreachable.signal]),
    calls: createCallbackQueue({
      onNote,
      limitMs: options.callbackLimitMs,
      onError: (error) => failure.abort(asError(error)),
      has: (name) => callbacks[name] !== undefined,
    }),
    checkpoints: createCheckpoints(engine, directory, { signal, onNote }),
    progress: createJobProgress({ ...options, directory, onNote }),
    location: recorded?.location,
    hasEnded: false,
    record(event) {
      try {
        owned.append(event);
      } catch (error) {
        if (isKitError(error)) throw error;
        throw cannotWrite(`write the job's log in ${directory}`, error);
      }
      if (event.event === "checkpoint.saved" || isFinalEvent(event)) clearTimeout(slowSave);
      hasStarted ||= event.event === "training.started";
      run.hasEnded ||= isFinalEvent(event);
      observer.onEvent(event);
    },
  };
  return run;
}

export function jobWithStatus({ owned }: Run, status: JobStatus): Job {
  return { ...owned.job, status };
}
