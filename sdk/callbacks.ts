import type { InferRequest, InferResult } from "../protocol/infer.ts";
import type { Job } from "../protocol/job.ts";
import type { Artifact } from "./artifact.ts";

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
