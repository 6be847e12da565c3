import type { Evaluation } from "./evaluation.ts";
import type { JobStatus } from "./job.ts";

/** A set of files that a job leaves, as its events describe it. */
export interface Artifact {
  /** The last of a job is its result. */
  step: number;
  /** All of a model, or an adapter that `lora` has trained, which needs its base. */
  kind: "model" | "adapter";
  /** Relative to the job's directory, with forward slashes: `artifacts/step-100`. */
  path: string;
  /** Set where all are listed, for the one with the lowest `evalLoss`. */
  best?: boolean;
}

/** A number that a training computes. JSON has no NaN and no infinity: they are null. */
// eslint-disable-next-line no-restricted-syntax -- JSON's.
export type Measured = number | null;

/** The data of each event of a job. */
export interface EventData {
  "training.started": {
    model: string;
    /** Trainable parameters, a count. */
    parameters: number;
    /** Rows of the dataset with something to learn, a count. */
    rows: number;
    /** Rows that are evaluated on and not trained on, a count. */
    evalRows?: number;
    /** Rows longer than `maxLength`, which lost their end; a count. */
    cut?: number;
    /** Rows that are left out because no answer fits; a count. */
    leftOut?: number;
    /** The same of the rows of `evalDataset`. */
    evalCut?: number;
    evalLeftOut?: number;
    /** Longest row in tokens. */
    maxLength?: number;
    /** The options that would keep every row, when more than a tenth is left out: `maxLength: 600`. */
    keepLeftOut?: string;
    /** The keys of a row: `{prompt, completion}`, or of several kinds `{messages} | {text}`. */
    format?: string;
    /** Tokens of one pass over the dataset, without padding. */
    tokens?: number;
    /** Says by its content whether two jobs had the same dataset, and the same held-out rows. */
    fingerprint?: string;
    evalFingerprint?: string;
    maxSteps: number;
    /** The job that this one goes on from, by its id, and the step of the checkpoint. */
    resumedFrom?: string;
    resumedStep?: number;
    /** The best evaluation up to that step, if it was on the same held-out rows. */
    resumedBest?: Evaluation;
    /** Passes over the dataset in all, a fraction. */
    epochs?: number;
  };
  "training.log": {
    step: number;
    /** Mean negative log likelihood of a learned token, in nats. */
    loss?: Measured;
    /** The same over all held-out rows after this step, if it is evaluated. */
    evalLoss?: Measured;
    learningRate?: number;
    /** Global L2 norm of the gradient before clipping. */
    gradNorm?: Measured;
    /** Passes over the dataset so far, a fraction. */
    epoch?: number;
    /** Since the previous log, without padding. */
    tokensPerSecond?: number;
    /** What the training's objective measures besides: means since the previous log, on held-out rows as `evalName`. */
    metrics?: Record<string, Measured>;
  };
  "checkpoint.saved": Omit<Artifact, "best">;
  "training.completed": {
    /** Those that are kept, oldest first; with `loadBestModelAtEnd` the best is the last. */
    artifacts: Artifact[];
    /** How many older ones the list leaves out, so that a record stays short. Default 0. */
    omitted?: number;
    /** The step at which `earlyStoppingPatience` ended the training. */
    stoppedAt?: number;
  };
  "training.failed": { error: string };
  "training.cancelled": { step: number };
}

export type EventName = keyof EventData;

/** One event of a job: its name and its data. */
export type JobEvent<Name extends EventName = EventName> = {
  [N in Name]: { event: N; data: EventData[N] };
}[Name];

/** An event that an engine reports; its caller adds how the job ended. */
export type EngineEvent = JobEvent<"training.started" | "training.log" | "checkpoint.saved">;

/** An event that ends a job. */
export type FinalEvent = JobEvent<"training.completed" | "training.failed" | "training.cancelled">;

export const FINAL_STATUS = {
  "training.completed": "completed",
  "training.failed": "failed",
  "training.cancelled": "cancelled",
} as const satisfies Record<FinalEvent["event"], JobStatus>;

export function isFinalEvent<T extends { event: string }>(
  event: T,
): event is T & { event: FinalEvent["event"] } {
  return Object.hasOwn(FINAL_STATUS, event.event);
}

/** The events that the event stream sends to the page, in the document's words. */
export const STREAMED_EVENTS = [
  "training.started",
  "training.log",
  "checkpoint.saved",
  "training.completed",
  "training.failed",
] as const satisfies EventName[];

export type StreamedEventName = (typeof STREAMED_EVENTS)[number];

/** The frame before an event with its time, as JSON, on a stream that was asked for as a page's. */
export const TIME = "time";

/** The frame after the last event of a finished job: the page closes its stream. */
export const END_OF_STREAM = "end";

/**
 * The frame after a `training.failed` without an id, once the silent owner reports again. It is not in
 * the document; the format makes clients ignore events that they don't know.
 */
export const OWNER_BACK = "owner.back";

/**
 * The frame once nobody follows a job that goes on remotely; `owner.back` once somebody does. Neither
 * is in the document.
 */
export const OWNER_AWAY = "owner.away";
