import { isRecord } from "./isRecord.ts";
import type { Job } from "./job.ts";

/** `GET /api/manifest`, 200: what the project's `createKit({ trainer })` call exposes. */
export interface Manifest {
  // eslint-disable-next-line no-restricted-syntax -- JSON's.
  trainer: { name: string } | null;
}

/** `GET /api/jobs`, 200: the project's jobs, newest first. */
export interface JobsResponse {
  jobs: readonly Job[];
}

/** `GET /api/jobs/:id`, 200: one job. */
export interface JobResponse extends Job {
  /** How much of a running job's training is done, from 0 to 1, once that is known. */
  progress?: number | undefined;
  /** A running job's log: its size in bytes, and how long ago it grew by the server's clock. */
  log?: { size: number; quietMs: number } | undefined;
}

/** An error: a message that says what to do. */
export interface ErrorResponse {
  error: string;
}

/** Query equivalent of `Last-Event-ID`, which a page can't set on a new stream. */
export const RESUME_FROM = "from";

/**
 * `history=thinned` requests only those of a job's past events that a page shows: the first, lowest,
 * highest and last loss of each pixel column of the chart, every event but logs, the first two logs and
 * the last.
 * Later events come unthinned, as do those that a client missed if they are few. A frame with its
 * time precedes each event.
 */
export const HISTORY = "history";
export const THINNED = "thinned";

/** Lines of a job page's event log; a thinned history has as many of the last events. */
export const EVENT_LOG_LINES = 50;

/** The last run's output, relative to the project, with forward slashes. */
export const RUN_OUTPUT = ".kit/run/output.log";

/** Names the last run in responses of `api/train` and `api/jobs`; the query `run` requests its output. */
export const RUN_HEADER = "Kit-Run";
export const RESUME_RUN = "run";

/** That run's status when the response begins. */
export const RUN_STATUS_HEADER = "Kit-Run-Status";

/** When that run started, ISO 8601, UTC. */
export const RUN_START_HEADER = "Kit-Run-Start";

/** Why that run failed, percent-encoded, if its process could not print it. */
export const RUN_ERROR_HEADER = "Kit-Run-Error";

/**
 * How a run ends: as its job does; `failed` if it ends before it has a job, `detached` if the job
 * continues remotely.
 */
export const RUN_ENDS = ["completed", "failed", "cancelled", "detached"] as const;

export type RunEnd = (typeof RUN_ENDS)[number];

export function isRunEnd(value: unknown): value is RunEnd {
  return RUN_ENDS.includes(value as RunEnd);
}

/** Paths relative to the page, without a leading slash, so that they work behind a path prefix. */
export const ROUTES = {
  manifest: "api/manifest",
  train: "api/train",
  /** A run's output from this byte on. */
  restOfTrain: (run: string, from: number) =>
    `api/train?${RESUME_RUN}=${encodeURIComponent(run)}&${RESUME_FROM}=${from}`,
  jobs: "api/jobs",
  job: (id: string) => `api/jobs/${encodeURIComponent(id)}`,
  /** `from`: the id of the last event seen, to resume a stream. */
  jobEvents: (id: string, from?: number) => {
    const resume = from === undefined ? "" : `&${RESUME_FROM}=${from}`;
    return `api/jobs/${encodeURIComponent(id)}/events?${HISTORY}=${THINNED}${resume}`;
  },
} as const;

/** The message that a `kit manifest` subprocess sends to the server over IPC. */
export type ManifestMessage = Manifest | ErrorResponse;

/** The project's own code may send other messages over the same channel. */
export function isManifestMessage(value: unknown): value is ManifestMessage {
  return isManifest(value) || (isRecord(value) && typeof value.error === "string");
}

export function isManifest(value: unknown): value is Manifest {
  if (!isRecord(value)) return false;
  const { trainer } = value;
  return trainer === null || (isRecord(trainer) && typeof trainer.name === "string");
}
