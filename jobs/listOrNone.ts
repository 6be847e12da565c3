import type { Job } from "../protocol/job.ts";
import type { JobStore } from "./store.ts";

/** The jobs; empty if unreadable. */
export function listOrNone(jobs: Pick<JobStore, "list">): readonly Job[] {
  try {
    return jobs.list();
  } catch {
    return [];
  }
}
