import type { InferRequest, InferResult } from "../protocol/infer.ts";
import type { Job } from "../protocol/job.ts";
import type { Artifact } from "./artifact.ts";

export type Infer = (request: InferRequest) => Promise<InferResult>;

/** The argument of `onLog`. */
export interface LogContext {
  job: Job;
  step: number;
  /** Mean negative log likelihood of a learned token, in nats; NaN when it is not finite. */
  loss: number;
  /** The same over all held-out rows after this step; undefined unless the step is evaluated. */
  evalLoss?: number;
  learningRate: number;
  /** Global L2 norm of the gradient before clipping; NaN when it is not finite. */
  gradNorm: number;
  /** Passes over the dataset so far, a fraction. */
  epoch: number;
  tokensPerSecond: number;
}

/** The argument of `onCheckpoint`. */
export interface CheckpointContext {
  job: Job;
  step: number;
  /** Everything kept so far, oldest first; the last is this checkpoint. All stays until this returns. */
  artifacts: Artifact[];
  /** Answers from this checkpoint while training goes on. */
  infer: Infer;
}

/**
 * Called one after another, in the order of the events; training goes on meanwhile.
 * Kit awaits a returned promise and ignores any other value. A callback that throws or rejects fails
 * the job with its message; so does one that takes more than an hour.
 */
export interface TrainerCallbacks {
  onStarted?: (context: { job: Job }) => unknown;
  onLog?: (context: LogContext) => unknown;
  onCheckpoint?: (context: CheckpointContext) => unknown;
  /** The last callback before the job is completed. */
  onCompleted?: (context: { job: Job; artifacts: Artifact[] }) => unknown;
  onFailed?: (context: { job: Job; error: Error }) => unknown;
  onCancelled?: (context: { job: Job }) => unknown;
}
