import { dirname } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Owner } from "../../disk/owner.ts";
import { leaseOwner } from "../../jobs/lease.ts";
import type { JobStore } from "../../jobs/store.ts";
import { isFinal } from "../../protocol/job.ts";

/** The ids of the jobs that a process owns and whose logs do not record an end. */
export function unfinishedJobsOf(owner: Owner, jobs: JobStore): string[] {
  // A failed job's log may lack an end: a lost owner fails it, too.
  const candidates = jobs.list().filter(({ status }) => !isFinal(status) || status === "failed");
  const ids = candidates.map(({ id }) => id).filter((id) => !jobs.hasEnded(id));
  return ids.filter((id) => isDeepStrictEqual(leaseOwner(dirname(jobs.logPath(id))), owner));
}
