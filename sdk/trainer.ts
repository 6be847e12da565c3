import { createEngine } from "../engine/index.ts";
import { waitForTurn } from "../jobs/queue.ts";
import { type OwnedJob, createJobStore } from "../jobs/store.ts";
import { KitError } from "../protocol/error.ts";
import type { Artifact, JobEvent } from "../protocol/event.ts";
import type { Job } from "../protocol/job.ts";
import { type TrainerOptions, checkOptions, resolveConfig } from "./options.ts";
import { type RunResult, runJob } from "./run.ts";

/** Kit's own door to a trainer's events, by a key that every copy of Kit shares. */
export const OBSERVE = Symbol.for("kit.trainer.observe");

/** One training run, to be started once. */
export interface Trainer {
  readonly name: string;
  /**
   * Creates the job and begins; calling it again returns the same job.
   * The project is the current directory.
   * @throws KitError `CANNOT_WRITE` when `.kit` cannot be written
   */
  start: () => Promise<{ jobId: string }>;
  /**
   * Resolves when the job is completed or cancelled; starts it if need be.
   * @throws the error that failed the job
   */
  wait: () => Promise<{ job: Job; artifacts: Artifact[] }>;
  /** Ends the job as cancelled, unless it has ended already. Resolves when it has ended. */
  cancel: () => Promise<void>;
}

export interface ObservableTrainer extends Trainer {
  [OBSERVE]: (observer: Observer) => void;
}

export interface Observer {
  onCreated?: (job: OwnedJob) => void;
  /** Sees each event once it is in the log, before the callbacks. */
  onEvent?: (event: JobEvent) => void;
}

/**
 * Describes a training run. Checks the options at once, and touches nothing on disk.
 * @throws KitError `INVALID_OPTION` naming the option and what was expected
 */
export function createTrainer(options: TrainerOptions): Trainer {
  const checked = checkOptions(options);
  const cancel = new AbortController();
  const observers: Observer[] = [];
  let started: { jobId: string; ended: Promise<RunResult> } | undefined;

  if (checked.abortSignal?.aborted) cancel.abort();
  checked.abortSignal?.addEventListener("abort", () => cancel.abort(), { once: true });

  function begin(): { jobId: string; ended: Promise<RunResult> } {
    const project = process.cwd();
    const store = createJobStore(project);
    const config = resolveConfig(checked, project);
    const job = store.create(checked.name, config);
    for (const observer of observers) observer.onCreated?.(job);
    const ended = runJob({
      job,
      config,
      engine: createEngine(),
      callbacks: checked.callbacks,
      turn: (signal) => waitForTurn(store, job.job.id, signal),
      cancel: cancel.signal,
      onEvent: (event) => observers.forEach((observer) => observer.onEvent?.(event)),
    });
    return { jobId: job.job.id, ended };
  }

  const trainer: ObservableTrainer = {
    name: checked.name,
    // eslint-disable-next-line @typescript-eslint/require-await -- so that what throws rejects
    async start() {
      started ??= begin();
      return { jobId: started.jobId };
    },
    async wait() {
      started ??= begin();
      const { job, artifacts, error } = await started.ended;
      if (error) throw error;
      return { job, artifacts };
    },
    async cancel() {
      cancel.abort(new KitError("CANCELLED", "The job was cancelled."));
      await started?.ended;
    },
    [OBSERVE]: (observer) => void observers.push(observer),
  };
  return trainer;
}
