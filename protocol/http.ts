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

/** Paths relative to the page, without a leading slash, so that they hold behind a path prefix. */
export const ROUTES = {
  manifest: "api/manifest",
  train: "api/train",
  jobs: "api/jobs",
  jobEvents: (id: string) => `api/jobs/${encodeURIComponent(id)}/events`,
} as const;
