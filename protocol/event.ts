import type { InferOutput } from "valibot";
import type { ARTIFACT, EVENT_SCHEMAS, measured } from "./eventSchemas.ts";
import type { JobStatus } from "./job.ts";

/** A set of files that a job saved, as in its events. A job's last one is its result. */
export type Artifact = InferOutput<typeof ARTIFACT>;

/** A computed number; null when it is not finite. */
export type Measured = InferOutput<typeof measured>;

/** The data of each event of a job. */
export type EventData = {
  [Name in keyof typeof EVENT_SCHEMAS]: InferOutput<(typeof EVENT_SCHEMAS)[Name]>;
};

export type EventName = keyof EventData;

/** One event of a job: its name and its data. */
export type JobEvent<Name extends EventName = EventName> = {
  [N in Name]: { event: N; data: EventData[N] };
}[Name];

/** An event that an engine reports; the driver adds the job's end. */
export type EngineEvent = JobEvent<(typeof ENGINE_EVENTS)[number]>;

/** An event of a running job, and when it was logged, in ms since 1970. */
export type PastEvent = (EngineEvent | JobEvent<typeof EVALUATED>) & { at: number };

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

export const ENGINE_EVENTS = [
  "training.started",
  "training.log",
  "checkpoint.saved",
] as const satisfies EventName[];

/** Reported by the job's driver after an evaluation. */
export const EVALUATED = "checkpoint.evaluated" satisfies EventName;

/** Reported by the driver during an evaluation, also before `training.started`. */
export const EVALUATING = "checkpoint.evaluating" satisfies EventName;

/** Reported by the driver of a download before `training.started`, and of a slow save. */
export const PREPARING = "training.preparing" satisfies EventName;

/** Events of the specified event stream. */
export const STREAMED_EVENTS = [
  ...ENGINE_EVENTS,
  "training.completed",
  "training.failed",
] as const satisfies EventName[];

/** Events on the page's stream. */
export const PAGE_EVENTS = [
  ...STREAMED_EVENTS,
  PREPARING,
  EVALUATING,
  EVALUATED,
] as const satisfies EventName[];

export type PageEventName = (typeof PAGE_EVENTS)[number];

/** On the page's stream, the frame before an event, with its time as JSON. */
export const TIME = "time";

/**
 * On the page's stream, a frame every 15 seconds that lets the page detect a dead connection: an
 * `EventSource` hides comments. An addition to the specified stream.
 */
export const HEARTBEAT = "alive";

/** The frame after the last event of a finished job: the page closes its stream. */
export const END_OF_STREAM = "end";

/**
 * The frame when a silent owner reports again, after a `training.failed` without an id. An addition to the
 * specified stream: clients ignore unknown events.
 */
export const OWNER_RETURNED = "owner.back";

/** The frame when no process follows a remote job any more; `owner.back` once one does. Also an addition. */
export const OWNER_DETACHED = "owner.away";
