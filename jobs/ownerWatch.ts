import { isFolder, statsOf } from "../disk/file.ts";
import { type LeaseRecord, RENEWAL_MS, watchLease } from "../disk/lease.ts";
import { leasePath, logPath } from "./paths.ts";

/** An owner that we can't check counts as dead when its lease and log are unchanged for this long. */
export const SILENCE_MS = 60_000;
/** An owner is gone when its lease is missing for this long; each renewal rewrites it. */
export const MISSING_MS = 2 * RENEWAL_MS;

/** `lease.json` of a job. */
export interface JobLease extends LeaseRecord {
  /** Whether the job has claimed its turn to train. */
  hasTurn?: boolean;
}

/** `silent`: not checkable, and without a sign of life for {@link SILENCE_MS}. */
export type LeaseState = "held" | "gone" | "silent";

/** The state of the owner of a job or a run. */
export interface OwnerObservation {
  lease: LeaseState;
  /** The lease's stamp, empty for a missing lease. While unchanged, the owner is gone. */
  proof?: string;
  /** Whether it has claimed the job's turn to train. */
  hasTurn: boolean;
}

/**
 * Returns a function that checks the owner of a job or run. A living owner holds its lease; any other loses
 * it when this reader, by its own clock, has seen no sign of life for long enough.
 */
export function watchOwner(directory: string, now?: () => number): () => OwnerObservation {
  // A growing log is a sign of life, too.
  const logSize = () => statsOf(logPath(directory))?.size;
  const observe = watchLease<JobLease>(leasePath(directory), logSize, now);
  return () => {
    const { record, stamp, state, silentMs } = observe();
    const hasTurn = record?.hasTurn === true;
    const isGone = { lease: "gone", proof: stamp, hasTurn } as const;
    if (record?.isReleased || state === "gone") return isGone;
    if (record) return { lease: silentMs > SILENCE_MS ? "silent" : "held", hasTurn };
    if (silentMs <= MISSING_MS && isFolder(directory)) return { lease: "held", hasTurn };
    // An owner that comes back rewrites the lease, which changes the stamp.
    return isGone;
  };
}
