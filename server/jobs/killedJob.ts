import { leaseOwner } from "../../disk/lease.ts";
import { type Owner, isSameProcess, ownerState } from "../../disk/owner.ts";
import { requestCancel } from "../../jobs/cancelRequest.ts";
import { findNewest } from "../../jobs/log/read.ts";
import { openLog } from "../../jobs/log/write.ts";
import { leasePath } from "../../jobs/paths.ts";
import { runsRemotely } from "../../jobs/remoteLocation.ts";
import type { JobStore } from "../../jobs/store.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { isFinal } from "../../protocol/job.ts";

/**
 * Asks a process to cancel its jobs, for a system without signals. Remote ones keep running.
 * @returns whether it has any
 */
export function requestCancelOf(owner: Owner, jobs: JobStore): boolean {
  try {
    const ids = localJobsOf(owner, jobs);
    for (const id of ids) requestCancel(jobs.directoryOf(id));
    return ids.length > 0;
  } catch {
    // Best effort: it is killed without a grace period.
    return false;
  }
}

/** Records the cancellation of a job whose owner was killed before it could. A remote job keeps running. */
export function cancelJobOf(owner: Owner, jobs: JobStore): void {
  // While it lives, only the owner may write the log.
  if (ownerState(owner) !== "gone") return;
  try {
    for (const id of localJobsOf(owner, jobs)) cancel(jobs.logPath(id));
  } catch {
    // Best effort: the job then shows as failed.
  }
}

/** Why a process's job failed, if it ended without recording an end. */
export function failureOf(owner: Owner, jobs: JobStore): string | undefined {
  const [id = ""] = unfinishedJobsOf(owner, jobs);
  return jobs.get(id)?.error;
}

function localJobsOf(owner: Owner, jobs: JobStore): string[] {
  return unfinishedJobsOf(owner, jobs).filter((id) => !runsRemotely(jobs.directoryOf(id)));
}

/** The ids of the jobs that a process owns and whose logs do not record an end. */
function unfinishedJobsOf(owner: Owner, jobs: JobStore): string[] {
  // A job whose owner is gone counts as failed, although its log has no end.
  const candidates = jobs.list().filter(({ status }) => !isFinal(status) || status === "failed");
  const ids = candidates.map(({ id }) => id).filter((id) => !jobs.hasEnded(id));
  return ids.filter((id) => {
    const holder = leaseOwner(leasePath(jobs.directoryOf(id)));
    return holder !== undefined && isSameProcess(holder, owner);
  });
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
