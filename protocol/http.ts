import type { Job } from "./job.ts";

/** `GET /api/manifest`, 200: what the project's `createKit({ trainer })` call exposes. */
export interface Manifest {
  trainer: { name: string } | null;
}

/** `GET /api/jobs`, 200: the project's jobs, newest first. */
export interface JobsResponse {
  jobs: Job[];
}

/** Every answer that is an error: one sentence that says what to do. */
export interface ErrorResponse {
  error: string;
}

/** Does what the header `Last-Event-ID` does, which a page cannot send with a stream that it opens. */
export const RESUME_FROM = "from";

/**
 * Of a job's events so far, `history=thinned` asks for those that a page shows: per pixel column of
 * the chart the first, lowest, highest and last loss, every event that is not a log, and the last
 * logs whole. What comes after is whole, and so is what a client missed if it is not much.
 */
export const HISTORY = "history";
export const THINNED = "thinned";

/** The answers of `api/train` name their run in this header; asked back, it is the query `run`. */
export const RUN_HEADER = "Kit-Run";
export const RESUME_RUN = "run";

/** In this header they say how that run stands as the answer begins. */
export const RUN_STATUS_HEADER = "Kit-Run-Status";

/** How a run ends: as its job does, and `failed` if it ends before it has a job. */
export const RUN_ENDS = ["completed", "failed", "cancelled"] as const;

export type RunEnd = (typeof RUN_ENDS)[number];

export function isRunEnd(value: unknown): value is RunEnd {
  return RUN_ENDS.includes(value as RunEnd);
}

/** Paths relative to the page, without a leading slash, so that they hold behind a path prefix. */
export const ROUTES = {
  manifest: "api/manifest",
  train: "api/train",
  /** What a run has printed from this byte on. */
  restOfTrain: (run: string, from: number) =>
    `api/train?${RESUME_RUN}=${encodeURIComponent(run)}&${RESUME_FROM}=${from}`,
  jobs: "api/jobs",
  /** `from`: the id of the last event seen, for a stream that is taken up again. */
  jobEvents: (id: string, from?: number) => {
    const resume = from === undefined ? "" : `&${RESUME_FROM}=${from}`;
    return `api/jobs/${encodeURIComponent(id)}/events?${HISTORY}=${THINNED}${resume}`;
  },
} as const;
