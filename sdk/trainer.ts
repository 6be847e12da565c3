import { jobCancelled } from "../jobs/cancelRequest.ts";
import { isFinalEvent } from "../protocol/event.ts";
import type { Job } from "../protocol/job.ts";
import {
  type JobSetup,
  type StartedJob,
  attachJob,
  beginJob,
  beginPlannedJob,
} from "./job/begin.ts";
import { type Observer, broadcast } from "./job/observer.ts";
import { createTensorBoard } from "./job/tensorBoard.ts";
import type { Artifact } from "./models/artifact.ts";
import { type CheckedOptions, type TrainerOptions, checkOptions } from "./options.ts";

/**
 * The key of Kit's own access to a trainer, shared by all copies of Kit. The command and the project may use
 * different copies; the command checks the version first.
 */
export const DRIVER = Symbol.for("kit.trainer");

/** One job, which starts once. */
export interface Trainer {
  /** The option. */
  readonly name: string;
  /**
   * Creates the job and begins; a second call returns the same job.
   * The project is the current directory.
   * @throws KitError `CANNOT_WRITE` when `.kit` cannot be written, `CANNOT_RESUME` before there is a job
   */
  start: () => Promise<{ jobId: string }>;
  /**
   * Resolves when the job is completed or cancelled; starts it if need be.
   * @throws the error that failed the job; KitError `CLUSTER_UNREACHABLE` or `CLUSTER_REFUSED` when
   * contact with a remote job was lost (it may continue), `CANNOT_FOLLOW` when this machine cannot
   * record it
   * @example
   * const { job, artifacts } = await trainer.wait();
   * console.log(job.status, artifacts.at(-1)?.directory);
   */
  wait: () => Promise<{ job: Job; artifacts: Artifact[] }>;
  /**
   * Ends the job as cancelled, unless it has ended already. Resolves when it has ended.
   * @example process.once("SIGINT", () => void trainer.cancel());
   */
  cancel: () => Promise<void>;
}

/** The `kit` command's access to a trainer. */
export interface TrainerDriver {
  /** With paths as the project wrote them. */
  readonly prepared: Pick<CheckedOptions, "engine" | "config" | "code" | "metrics">;
  observe: (observer: Observer) => void;
  /** Sets the option before the trainer starts. */
  resume: () => void;
  /**
   * Continues an earlier process's job instead of starting one.
   * @throws KitError `CANNOT_ATTACH`, `JOB_ENDED`, `JOB_TAKEN`, `CLUSTER_UNREACHABLE`, `CLUSTER_REFUSED`
   */
  attach: (id: string) => Promise<void>;
  /**
   * Begins a planned job instead of a new one.
   * @throws KitError `JOB_NOT_FOUND`, `JOB_TAKEN`, `CANNOT_WRITE`
   */
  begin: (id: string) => Promise<void>;
  /** Detaches from a remote job; cancels any other. */
  detach: () => void;
}

export interface DrivenTrainer extends Trainer {
  readonly [DRIVER]: TrainerDriver;
}

/**
 * Describes a training run. Checks the options at once and doesn't touch the disk.
 * @example
 * const trainer = createTrainer({
 *   name: "date-normalizer",
 *   model: "kit/nano",
 *   dataset: { type: "jsonl", path: "data/train.jsonl" },
 *   maxSteps: 400,
 * });
 * @throws KitError `OPTION_INVALID` naming the option and what was expected
 */
export function createTrainer<Epochs extends number = number>(
  options: TrainerOptions<Epochs>,
): Trainer;
export function createTrainer(options: TrainerOptions): Trainer {
  const checked = checkOptions(options);
  const cancellation = new AbortController();
  const detaching = new AbortController();
  let isOver = false;
  let isRemote = false;
  const observers: Observer[] = [
    {
      onEvent: (event) => void (isOver ||= isFinalEvent(event)),
      onRemote: () => void (isRemote = true),
      onAttached: () => void (isRemote = true),
    },
  ];
  const observer = broadcast(observers);
  if (checked.config.reportTo === "tensorboard") {
    observers.push(createTensorBoard((text) => observer.onNote(text)));
  }
  const signals = { cancel: cancellation.signal, detachSignal: detaching.signal };
  const setup: JobSetup = { checked, observer, ...signals };
  let started: StartedJob | undefined;
  let { resume } = checked.config;

  const cancel = () => cancellation.abort(jobCancelled());
  if (checked.abortSignal?.aborted) cancel();
  checked.abortSignal?.addEventListener("abort", cancel, { once: true });
  const begin = () => beginJob(setup, resume);

  const trainer: DrivenTrainer = {
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
      // A callback of the last event may call this, and awaiting the end would deadlock.
      if (isOver) return;
      cancel();
      await started?.ended;
    },
    [DRIVER]: {
      prepared: checked,
      observe(added) {
        observers.push(added);
        if (started) added.onCreated?.(started.created);
      },
      resume: () => void (resume = true),
      async attach(id) {
        started = await attachJob(setup, id);
      },
      async begin(id) {
        started = await beginPlannedJob(setup, id);
      },
      detach() {
        if (isRemote) detaching.abort();
        else cancel();
      },
    },
  };
  return trainer;
}
