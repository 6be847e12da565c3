import type { InferOutput } from "valibot";
import type { ARTIFACT, EVENT_SCHEMAS, measured } from "./eventSchemas.ts";
import type { JobStatus } from "./job.ts";

/** A set of files that a job leaves, as its events describe it. The last of a job is its result. */
export type Artifact = InferOutput<typeof ARTIFACT>;

/** A number that a training computes; null when it is not finite. */
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

/** An event that an engine reports; its caller adds how the job ended. */
export type EngineEvent = JobEvent<(typeof ENGINE_EVENTS)[number]>;

/** An event of a job that goes on, and when it was logged, in ms since 1970. */
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

/** Reported by the job's driver, which scores the model's answers. */
export const EVALUATED = "checkpoint.evaluated" satisfies EventName;

/** Reported by the driver now and then while it asks the model, also before `training.started`. */
export const EVALUATING = "checkpoint.evaluating" satisfies EventName;

/** The events that the event stream sends to the page, in the document's words. */
export const STREAMED_EVENTS = [
  ...ENGINE_EVENTS,
  "training.completed",
  "training.failed",
] as const satisfies EventName[];

/** The events on a page's stream. */
export const PAGE_EVENTS = [
  ...STREAMED_EVENTS,
  EVALUATING,
  EVALUATED,
] as const satisfies EventName[];

export type PageEventName = (typeof PAGE_EVENTS)[number];

/** On a page's stream, the frame before an event, with its time as JSON. */
export const TIME = "time";

/**
 * On a page's stream, a frame every 15 seconds: an `EventSource` tells its page nothing of comments, and a
 * connection can die without a word. It is not in the document.
 */
export const ALIVE = "alive";

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
