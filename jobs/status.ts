import { FINAL_STATUS, isFinalEvent } from "../protocol/event.ts";
import type { Job } from "../protocol/job.ts";
import type { LogRecord } from "./log/lines.ts";
import { type LeaseState, SILENCE_MS } from "./ownerWatch.ts";

export const OWNER_GONE =
  "The training process died (killed, or out of memory?). To continue from its last checkpoint, if any, run npx kit start --resume.";
export const OWNER_SILENT = `The training process has not reported for over ${SILENCE_MS / 1000} seconds (suspended, unreachable, or blocked by a callback?). If it is gone for good, run npx kit start --resume to continue from its last checkpoint, if any.`;

/** A status and, for a failed job, the reason. */
export interface DerivedStatus extends Pick<Job, "status" | "lastHeardAt"> {
  error?: string;
}

/** The status of a final event; undefined for any other. */
export function finalStatus(record: LogRecord): DerivedStatus | undefined {
  if (!isFinalEvent(record)) return undefined;
  const status = FINAL_STATUS[record.event];
  if (record.event !== "training.failed") return { status };
  return { status, error: (record.data as { error?: string } | undefined)?.error };
}

/**
 * The status of a job without a final event.
 * @param reportedAt when a remote job last reported
 */
export function statusFromLease(
  hasStarted: boolean,
  lease: LeaseState,
  reportedAt?: Date,
): DerivedStatus {
  if (reportedAt && lease !== "held")
    return { status: "running", lastHeardAt: reportedAt.toISOString() };
  if (lease === "gone") return { status: "failed", error: OWNER_GONE };
  if (lease === "silent") return { status: "failed", error: OWNER_SILENT };
  return { status: hasStarted ? "running" : "queued" };
}
