import { openLog } from "../jobs/log.ts";
import { readLogTail } from "../jobs/logTail.ts";
import { type Owner, ownerState } from "../disk/owner.ts";
import type { JobStore } from "../jobs/store.ts";
import { unfinishedJobsOf } from "./ownedJobs.ts";

/** Says in a job's log that it was cancelled, for an owner that was killed and cannot. */
export function cancelJobOf(owner: Owner, jobs: JobStore): void {
  // Nobody but a job's owner may write its log for as long as it lives.
  if (ownerState(owner) !== "gone") return;
  try {
    for (const id of unfinishedJobsOf(owner, jobs)) cancel(jobs.logPath(id));
  } catch {
    // A full disk, say: the job shows as failed, its process gone, which is as true.
  }
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
  const steps = readLogTail(path).map(({ data }) => (data as { step?: unknown } | null)?.step);
  return steps.findLast((step) => typeof step === "number") ?? 0;
}
