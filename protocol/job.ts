import { formatAgo } from "./format.ts";

export const JOB_STATUSES = ["queued", "running", "completed", "failed", "cancelled"] as const;

/** `queued` waits for another job of the project; `queued` and `running` are live, the others final. */
export type JobStatus = (typeof JOB_STATUSES)[number];

/** A job, as the jobs list and the job page show it. */
export interface Job {
  /** Sorts by creation time. */
  id: string;
  /** The trainer's name. */
  name: string;
  /** Status when read. */
  status: JobStatus;
  /** ISO 8601, UTC. */
  createdAt: string;
  /** When a remote job that no process here follows last reported, ISO 8601, UTC. */
  lastHeardAt?: string;
}

export function isJobStatus(value: unknown): value is JobStatus {
  return JOB_STATUSES.includes(value as JobStatus);
}

export function isFinal(status: JobStatus): boolean {
  return status !== "queued" && status !== "running";
}

/** `last reported 5 minutes ago`. Clamps times in the future: another machine's clock may be ahead. */
export function lastReported(at: string, now = Date.now()): string {
  return `last reported ${formatAgo(Math.max(0, now - Date.parse(at)))}`;
}
