import type { JobStore } from "../../jobs/store.ts";
import type { Job } from "../../protocol/job.ts";

/** The project's jobs, or none if they can't be read, as the page says then. */
export function listOrNone(jobs: Pick<JobStore, "list">): readonly Job[] {
  try {
    return jobs.list();
  } catch {
    return [];
  }
}
