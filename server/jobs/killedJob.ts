import { isDeepStrictEqual } from "node:util";
import { leaseOwner } from "../../disk/lease.ts";
import { type Owner, ownerState } from "../../disk/owner.ts";
import { findNewest } from "../../jobs/log/read.ts";
import { openLog } from "../../jobs/log/write.ts";
import { leasePath } from "../../jobs/paths.ts";
import { runsRemotely } from "../../jobs/remoteLocation.ts";
import type { JobStore } from "../../jobs/store.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { isFinal } from "../../protocol/job.ts";

/**
 * Records that a job was cancelled, for an owner that was killed before it could. One that runs
 * elsewhere goes on.
 */
export function cancelJobOf(owner: Owner, jobs: JobStore): void {
  // Only a job's owner may write its log, as long as it lives.
  if (ownerState(owner) !== "gone") return;
  try {
    for (const id of unfinishedJobsOf(owner, jobs)) {
      if (!runsRemotely(jobs.directoryOf(id))) cancel(jobs.logPath(id));
    }
  } catch {
    // Best effort; otherwise it shows as failed.
  }
}

/** Why the job of a process failed that could not record it; undefined for any other. */
export function failureOf(owner: Owner, jobs: JobStore): string | undefined {
  const [id = ""] = unfinishedJobsOf(owner, jobs);
  return jobs.get(id)?.error;
}

/** The ids of the jobs that a process owns and whose logs do not record an end. */
function unfinishedJobsOf(owner: Owner, jobs: JobStore): string[] {
  // A failed job's log may lack an end: a lost owner fails it, too.
  const candidates = jobs.list().filter(({ status }) => !isFinal(status) || status === "failed");
  const ids = candidates.map(({ id }) => id).filter((id) => !jobs.hasEnded(id));
  return ids.filter((id) => isDeepStrictEqual(leaseOwner(leasePath(jobs.directoryOf(id))), owner));
}

function cancel(path: string): void {
  const log = openLog(path);
  try {
    log.append({ event: "training.cancelled", data: { step: lastStep(path) } });
  } finally {
    log.close();
  }
}

function lastStep(path: string): number {
  const stepOf = (data: unknown) =>
    isRecord(data) && typeof data.step === "number" ? data.step : undefined;
  return findNewest(path, ({ data }) => stepOf(data))?.found ?? 0;
}
