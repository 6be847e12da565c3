import type { JobStore } from "../../jobs/store.ts";
import type { Job } from "../../protocol/job.ts";

/** The jobs; empty if unreadable. */
export function listOrNone(jobs: Pick<JobStore, "list">): readonly Job[] {
  try {
    return jobs.list();
  } catch {
    return [];
  }
}
