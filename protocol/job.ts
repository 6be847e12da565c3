import { formatAgo } from "./format.ts";
/** Every state a job can be in. */
export const JOB_STATUSES = ["queued", "running", "completed", "failed", "cancelled"] as const;

/** `queued` waits for another job of the project; `queued` and `running` are live, the others final. */
export type JobStatus = (typeof JOB_STATUSES)[number];

/** A job, as the jobs list and the job page show it. */
export interface Job {
  /** Sorts by creation time. */
  id: string;
  /** The trainer's. */
  name: string;
  /** When this was read. */
  status: JobStatus;
  /** ISO 8601, UTC. */
  createdAt: string;
  /**
   * When a running job last reported, ISO 8601, UTC: of one that runs on another machine, and that no
   * process here follows.
   */
  lastHeardAt?: string;
}

export function isJobStatus(value: unknown): value is JobStatus {
  return JOB_STATUSES.includes(value as JobStatus);
}

export function isFinal(status: JobStatus): boolean {
  return status !== "queued" && status !== "running";
}

/** In words, of a job that nobody follows. Another machine's clock may be ahead. */
export function lastReported(at: string, now = Date.now()): string {
  return `last reported ${formatAgo(Math.max(0, now - Date.parse(at)))}`;
}
