import type { InferRequest, InferResult } from "../protocol/engine.ts";
import { KitError, messageOf } from "../protocol/error.ts";
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
 * A promise that one returns is waited for, any other value is not looked at. One that throws, or
 * whose promise rejects, fails the job with its message; so does one that is not done within an hour.
 */
export interface TrainerCallbacks {
  onStarted?: (context: { job: Job }) => unknown;
  onLog?: (context: LogContext) => unknown;
  onCheckpoint?: (context: CheckpointContext) => unknown;
  /** The last word before the job counts as completed. */
  onCompleted?: (context: { job: Job; artifacts: Artifact[] }) => unknown;
  onFailed?: (context: { job: Job; error: Error }) => unknown;
  onCancelled?: (context: { job: Job }) => unknown;
}

/** How long a callback may take. */
export const CALLBACK_LIMIT_MS = 3_600_000;

/** Calls callbacks one after another. The first that fails stops the rest. */
export interface CallbackQueue {
  add: (name: keyof TrainerCallbacks, call: () => unknown) => void;
  /** Resolves when all added so far are done; rejects with the first failure. */
  drain: () => Promise<void>;
  /** Calls nothing more. */
  stop: () => void;
}

export function createCallbackQueue(
  onError: (error: unknown) => void,
  limitMs = CALLBACK_LIMIT_MS,
): CallbackQueue {
  let isStopped = false;
  let last: Promise<void> = Promise.resolve();
  return {
    add(name, call) {
      last = last.then(() => (isStopped ? undefined : callWithin(limitMs, name, call)));
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

/** The job has ended already, so a callback that throws now can only be told of. */
export async function callLast(
  name: keyof TrainerCallbacks,
  call: () => unknown,
  limitMs = CALLBACK_LIMIT_MS,
): Promise<void> {
  try {
    await callWithin(limitMs, name, call);
  } catch (error) {
    process.emitWarning(`${name} failed: ${messageOf(error)}`, "KitWarning");
  }
}

/** @throws KitError `CALLBACK_STUCK` after the limit, or when nothing is left that could end the wait */
export async function callWithin(
  limitMs: number,
  name: string,
  call: () => unknown,
): Promise<void> {
  let giveUp = () => {};
  const stuck = new Promise<never>((_, reject) => {
    giveUp = () => {
      const message = `${name} never returned. Look for a promise in it that does not settle.`;
      reject(new KitError("CALLBACK_STUCK", message));
    };
  });
  const timer = setTimeout(giveUp, limitMs).unref();
  process.once("beforeExit", giveUp);
  try {
    await Promise.race([call(), stuck]);
  } finally {
    clearTimeout(timer);
    process.off("beforeExit", giveUp);
  }
}
