import { dirname } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { leaseOwner } from "../jobs/lease.ts";
import type { Owner } from "../disk/owner.ts";
import type { JobStore } from "../jobs/store.ts";

/** The ids of the jobs that a process owns and whose logs do not record an end. */
export function unfinishedJobsOf(owner: Owner, jobs: JobStore): string[] {
  const unfinished = jobs.list().filter(({ id }) => !jobs.hasEnded(id));
  const ids = unfinished.map(({ id }) => id);
  return ids.filter((id) => isDeepStrictEqual(leaseOwner(dirname(jobs.logPath(id))), owner));
}
