import { createOwnedJob } from "../jobs/ownedJob.ts";
import { waitForTurn } from "../jobs/queue.ts";
import { createJobStore } from "../jobs/store.ts";
import { KitError } from "../protocol/error.ts";
import { type JobEvent, isFinalEvent } from "../protocol/event.ts";
import type { Job } from "../protocol/job.ts";
import type { JobConfig } from "../protocol/trainConfig.ts";
import type { Artifact } from "./artifact.ts";
import { resolveConfig } from "./config.ts";
import { type CheckedOptions, type TrainerOptions, checkOptions } from "./options.ts";
import { planResume } from "./resume.ts";
import { type JobResult, runJob } from "./runJob.ts";
import { asError } from "./thrown.ts";

/** The key of Kit's own access to a trainer's events, shared by every copy of Kit. */
export const OBSERVE = Symbol.for("kit.trainer.observe");

/** The key of Kit's own access to what a trainer was given, shared as above. */
export const PREPARED = Symbol.for("kit.trainer.prepared");
/** The key of `kit start --resume`. */
export const RESUME = Symbol.for("kit.trainer.resume");

/** One job, which starts once. */
export interface Trainer {
  readonly name: string;
  /**
   * Creates the job and begins; a second call returns the same job.
   * The project is the current directory.
   * @throws KitError `CANNOT_WRITE` when `.kit` cannot be written, `CANNOT_RESUME` before there is a job
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
  /** The config's paths are as the project wrote them. */
  readonly [PREPARED]: Pick<CheckedOptions, "engine" | "config">;
  /** As the option; before the trainer starts. */
  [RESUME]: () => void;
}

/** A new job, and a way to fail it for errors outside of its callbacks. */
export interface Created {
  job: Job;
  config: JobConfig;
  /** Absolute path of the job's directory. */
  directory: string;
  fail: (error: unknown) => void;
}

export interface Observer {
  onCreated?: (created: Created) => void;
  /** Takes the job that this one waits for, then each further one. */
  onWait?: (before: Job) => void;
  /** Takes each event once it is in the log, before the callbacks. */
  onEvent?: (event: JobEvent) => void;
  /** Takes a line for people on a slow step. */
  onNote?: (text: string) => void;
}

/**
 * Describes a training. Checks the options at once and doesn't touch the disk.
 * @throws KitError `OPTION_INVALID` naming the option and what was expected
 */
export function createTrainer(options: TrainerOptions): Trainer {
  const checked = checkOptions(options);
  const cancellation = new AbortController();
  const failure = new AbortController();
  const observers: Observer[] = [];
  let started: { created: Created; ended: Promise<JobResult> } | undefined;
  let isOver = false;
  let { resume } = checked.config;
  const note = (text: string) => {
    for (const observer of observers) observer.onNote?.(text);
  };

  const cancel = () =>
    cancellation.abort(
      new KitError("CANCELLED", "The job was cancelled. Start another to train again."),
    );
  if (checked.abortSignal?.aborted) cancel();
  checked.abortSignal?.addEventListener("abort", cancel, { once: true });

  function begin(): { created: Created; ended: Promise<JobResult> } {
    const project = process.cwd();
    const config = resolveConfig({ ...checked.config, resume }, project);
    const resuming = resume ? planResume(project, checked.name, config) : undefined;
    const owned = createOwnedJob(project, checked.name, config);
    const { job, directory } = owned;
    const created = {
      job,
      config,
      directory,
      fail: (error: unknown) => failure.abort(asError(error)),
    };
    for (const observer of observers) observer.onCreated?.(created);
    const ended = runJob({
      job: owned,
      config,
      engine: checked.engine,
      callbacks: checked.callbacks,
      turn: (signal) =>
        waitForTurn(createJobStore(project), owned, signal, (before) => {
          resuming?.refuseTwin(job.id);
          for (const observer of observers) observer.onWait?.(before);
        }),
      resume: resuming && (() => resuming.find(note)),
      cancel: cancellation.signal,
      failure,
      onEvent(event) {
        isOver ||= isFinalEvent(event);
        for (const observer of observers) observer.onEvent?.(event);
      },
      onNote: note,
    });
    return { created, ended };
  }

  const trainer: ObservableTrainer = {
    name: checked.name,
    // oxlint-disable-next-line typescript/require-await -- so that an error rejects
    async start() {
      started ??= begin();
      return { jobId: started.created.job.id };
    },
    async wait() {
      started ??= begin();
      const { job, artifacts, error } = await started.ended;
      if (error) throw error;
      return { job, artifacts };
    },
    async cancel() {
      // The callback of the job's last event may call this, and the job's end waits for that callback.
      if (isOver) return;
      cancel();
      await started?.ended;
    },
    [RESUME]() {
      resume = true;
    },
    [OBSERVE](observer) {
      observers.push(observer);
      if (started) observer.onCreated?.(started.created);
    },
    [PREPARED]: checked,
  };
  return trainer;
}
