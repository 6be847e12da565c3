import { isFolder, statsOf } from "../disk/file.ts";
import { type LeaseRecord, type LeaseSight, RENEWAL_MS, watchLease } from "../disk/lease.ts";
import { leasePath, logPath } from "./paths.ts";

/** An owner that we can't see counts as dead when its lease and log stood still for this long. */
export const SILENCE_MS = 60_000;
/** An owner is gone when its lease is missing for this long: each renewal rewrites it. */
export const MISSING_MS = 2 * RENEWAL_MS;

/** `lease.json` of a job. */
export interface JobLease extends LeaseRecord {
  /** Whether the job has claimed its turn to train. */
  hasTurn?: boolean;
}

/** `silent`: out of our sight, and without a sign of life for {@link SILENCE_MS}. */
export type LeaseState = "held" | "gone" | "silent";

/** The state of a job's owner. */
export interface OwnerSight {
  lease: LeaseState;
  /** The lease's stamp, empty for a missing lease. As long as it stays, the owner is gone. */
  proof?: string;
  /** Whether it has claimed the job's turn to train. */
  hasTurn: boolean;
}

export interface LeaseWatch {
  check: (id: string, directory: string) => OwnerSight;
  /** The next check of each job reads its lease. */
  expire: () => void;
  /** While frozen, each check returns the last result. */
  freeze: (isFrozen: boolean) => void;
  forget: (id: string) => void;
}

interface Seen {
  look: () => LeaseSight<JobLease>;
  sight: OwnerSight;
  /** The time of the last look. */
  at: number;
}

/**
 * Reads leases over time. A living owner holds its lease. Any other loses it when this reader, by
 * its own clock, has seen no sign of life for long enough.
 * @param freshMs how long a check's result counts for all callers
 */
export function createLeaseWatch(
  freshMs = 0,
  now: () => number = () => performance.now(),
): LeaseWatch {
  const seen = new Map<string, Seen>();
  let isFrozen = false;
  let freshFrom = -Infinity;
  return {
    check(id, directory) {
      const last = seen.get(id);
      if (isFrozen) return last?.sight ?? { lease: "held", hasTurn: false };
      const at = now();
      if (last && last.at > freshFrom && at - last.at < freshMs) return last.sight;
      // A growing log is a sign of life, too.
      const logSize = () => statsOf(logPath(directory))?.size;
      const look = last?.look ?? watchLease(leasePath(directory), logSize, now);
      const sight = judge(look(), directory);
      seen.set(id, { look, sight, at });
      return sight;
    },
    expire: () => void (freshFrom = now()),
    freeze: (isNow) => void (isFrozen = isNow),
    forget: (id) => void seen.delete(id),
  };
}

function judge(seen: LeaseSight<JobLease>, directory: string): OwnerSight {
  const { record, stamp, state, stillMs } = seen;
  const hasTurn = record?.hasTurn === true;
  const isGone = { lease: "gone", proof: stamp, hasTurn } as const;
  if (record?.isReleased || state === "gone") return isGone;
  if (record) return { lease: stillMs > SILENCE_MS ? "silent" : "held", hasTurn };
  if (stillMs <= MISSING_MS && isFolder(directory)) return { lease: "held", hasTurn };
  // If the owner comes back after all, it writes the lease again, which changes the stamp.
  return isGone;
}
