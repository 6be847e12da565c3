import type { InferRequest, InferResult } from "../protocol/infer.ts";
import type { Job } from "../protocol/job.ts";
import type { Artifact } from "./models/artifact.ts";

/**
 * Answers from the saved checkpoint, which its first request loads. Rejects with the reason if `signal` is
 * aborted or the job ends early.
 * @throws KitError `REQUEST_INVALID` naming the problem
 * @example const { text } = await infer({ prompt: "7th of March 1998", maxTokens: 20 });
 */
export type Infer = (request: InferRequest) => Promise<InferResult>;

/** The argument of `onLog`. */
export interface LogContext {
  /** The `running` job. */
  job: Job;
  /** Optimizer steps so far, counted from 1. */
  step: number;
  /** Mean negative log likelihood of a learned token, in nats; NaN when it is not finite. */
  loss: number;
  /** The same over all held-out rows after this step; undefined unless the step is evaluated, NaN when it is not finite. */
  evalLoss?: number;
  /** Learning rate of this step; NaN if the engine does not report it. */
  learningRate: number;
  /** Global L2 norm of the gradient before clipping; NaN when it is not finite. */
  gradNorm: number;
  /** Passes over the dataset so far, possibly a fraction; NaN if the engine does not report it. */
  epoch: number;
  /** Since the previous log, without padding; NaN if the engine does not report it. */
  tokensPerSecond: number;
  /** Other metrics by name: means since the previous log and, as `evalName`, over all held-out rows. NaN when not finite. Undefined without any. */
  metrics?: Record<string, number>;
}

/** The argument of `onCheckpoint`. */
export interface CheckpointContext {
  /** The `running` job. */
  job: Job;
  /** Optimizer steps of the checkpoint. */
  step: number;
  /** All artifacts kept so far, oldest first; the last is this checkpoint. None is removed until this returns. */
  artifacts: Artifact[];
  /** Answers from this checkpoint while training continues. */
  infer: Infer;
}

/** The argument of `onEvaluated`. */
export interface EvaluatedContext {
  /** The `running` job. */
  job: Job;
  /** Step of the evaluated checkpoint; 0 is the model before training. */
  step: number;
  /** Values by the names of `evaluate.metrics`. */
  metrics: Record<string, number>;
  /** Values before training, if known. */
  before?: Record<string, number>;
  /** Number of held-out rows evaluated. */
  rows: number;
  /** How long answering and scoring took. */
  seconds: number;
}

/**
 * Called one after another, in event order; training continues meanwhile.
 * Kit awaits a returned promise and ignores any other value. A callback that throws or rejects fails
 * the job with its message; so does one that takes more than an hour.
 */
export interface TrainerCallbacks {
  /**
   * Called once, before the first step, when the rows are read and the model is ready.
   * @example onStarted: ({ job }) => console.log(`${job.name} trains as ${job.id}`)
   */
  onStarted?: (context: { job: Job }) => unknown;
  /**
   * Called at the first two steps, every `loggingSteps`, each evaluated step and the last. A step whose
   * loss, evalLoss or gradient is not finite fails the job and calls `onFailed` instead of `onLog`;
   * `metrics` may be NaN, and with your own engine every number but `step`.
   * @example
   * onLog: ({ step, loss, evalLoss }) => {
   *   console.log(step, loss.toFixed(4), evalLoss?.toFixed(4) ?? "not evaluated");
   * }
   */
  onLog?: (context: LogContext) => unknown;
  /**
   * Called every `saveSteps` steps and after the last one, with `infer` to try the checkpoint.
   * @example
   * onCheckpoint: async ({ step, infer }) => {
   *   const { text } = await infer({ prompt: "7th of March 1998" });
   *   console.log(`step ${step}: ${text}`);
   * }
   */
  onCheckpoint?: (context: CheckpointContext) => unknown;
  /**
   * Called after each evaluation by `evaluate`: before the first step, and at each checkpoint before its
   * `onCheckpoint`.
   * @example onEvaluated: ({ step, metrics }) => console.log(step, metrics.accuracy)
   */
  onEvaluated?: (context: EvaluatedContext) => unknown;
  /**
   * Called once, when training is done; the job is completed afterwards. `artifacts`: oldest first, the result last.
   * @example onCompleted: ({ artifacts }) => console.log(artifacts.at(-1)?.directory)
   */
  onCompleted?: (context: { job: Job; artifacts: Artifact[] }) => unknown;
  /**
   * Called once, when the job has failed. What it throws is only printed.
   * @example onFailed: ({ job, error }) => console.error(`${job.id}: ${error.message}`)
   */
  onFailed?: (context: { job: Job; error: Error }) => unknown;
  /**
   * Called once, when the job was cancelled. What it throws is only printed.
   * @example onCancelled: ({ job }) => console.log(`${job.id} was cancelled`)
   */
  onCancelled?: (context: { job: Job }) => unknown;
}
