import type { InferRequest, InferResult } from "../protocol/engine.ts";
import type { Artifact } from "../protocol/event.ts";
import type { Job } from "../protocol/job.ts";

export type Infer = (request: InferRequest) => Promise<InferResult>;

/** What `onLog` gets. */
export interface LogContext {
  job: Job;
  step: number;
  /** Mean negative log likelihood of a learned token, in nats; NaN when it is not finite. */
  loss: number;
  learningRate: number;
  /** Global L2 norm of the gradient before clipping; NaN when it is not finite. */
  gradNorm: number;
  /** Passes over the dataset so far, a fraction. */
  epoch: number;
  tokensPerSecond: number;
}

/** What `onCheckpoint` gets. */
export interface CheckpointContext {
  job: Job;
  step: number;
  /** Everything saved so far, oldest first; the last is this checkpoint. */
  artifacts: Artifact[];
  /** Asks this checkpoint, while training goes on. */
  infer: Infer;
}

/**
 * Called one after another, in the order of the events; training goes on meanwhile.
 * One that throws, or whose promise rejects, fails the job with its message.
 */
export interface TrainerCallbacks {
  onStarted?: (context: { job: Job }) => void | Promise<void>;
  onLog?: (context: LogContext) => void | Promise<void>;
  onCheckpoint?: (context: CheckpointContext) => void | Promise<void>;
  /** The last word before the job counts as completed. */
  onCompleted?: (context: { job: Job; artifacts: Artifact[] }) => void | Promise<void>;
  onFailed?: (context: { job: Job; error: Error }) => void | Promise<void>;
  onCancelled?: (context: { job: Job }) => void | Promise<void>;
}

/** Runs tasks one after another. The first that fails stops the rest. */
export interface TaskQueue {
  add: (task: () => void | Promise<void>) => void;
  /** Resolves when all added so far have run; rejects with the first failure. */
  drain: () => Promise<void>;
  /** Runs nothing more. */
  stop: () => void;
}

export function createTaskQueue(onError: (error: unknown) => void): TaskQueue {
  let isStopped = false;
  let last: Promise<void> = Promise.resolve();
  return {
    add(task) {
      last = last.then(() => (isStopped ? undefined : task()));
      last.catch((error: unknown) => {
        isStopped = true;
        onError(error);
      });
    },
    drain: () => last,
    stop() {
      isStopped = true;
    },
  };
}
