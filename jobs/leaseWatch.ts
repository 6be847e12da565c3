import { isFolder, statsOf } from "../disk/file.ts";
import { type Owner, ownerState } from "../disk/owner.ts";
import { RENEWAL_MS, readLease } from "./lease.ts";
import { logPath } from "./paths.ts";

/** An owner that we can't see counts as dead when its lease and log stood still for this long. */
export const SILENCE_MS = 60_000;
/** An owner is gone when its lease is missing for this long: each renewal rewrites it. */
export const MISSING_MS = 2 * RENEWAL_MS;
/** Cap per gap between two checks; longer gaps mean the reader slept. */
export const LONGEST_GAP_MS = 10_000;

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
  hasTurn: boolean;
  /** The lease's holder, or its last one. */
  owner?: Owner;
  /** Undefined while the lease is missing. */
  renewal?: number;
  stamp?: string;
  isReleased: boolean;
  /** In bytes. A growing log is a sign of life, too. */
  logSize?: number;
  /** How long this reader has seen no change. */
  stillMs: number;
  /** The time of the last check. */
  at: number;
}

const UNSEEN: OwnerSight = { lease: "held", hasTurn: false };

/**
 * Reads leases over time. A living owner holds its lease. Any other loses it when this reader, by
 * its own clock, has seen no sign of life for long enough.
 * @param freshMs how long a check's result counts for all callers
 */
export function createLeaseWatch(
  freshMs = 0,
  now: () => number = () => performance.now(),
): LeaseWatch {
  const seen = new Map<string, Seen & OwnerSight>();
  let isFrozen = false;
  let freshFrom = -Infinity;

  function see(directory: string, last: Seen | undefined): Seen {
    const at = now();
    const found = readLease(directory);
    // We learnt nothing, so this time doesn't count.
    if (found === "unreadable" && last?.owner) return { ...last, at };
    const { record, stamp } = found === "unreadable" ? {} : found;
    const logSize = statsOf(logPath(directory))?.size;
    const isStill = last?.renewal === record?.renewal && last?.logSize === logSize;
    const isAlive = record !== undefined && isProvenAlive(record.owner);
    const gapMs = last ? Math.min(at - last.at, LONGEST_GAP_MS) : 0;
    return {
      owner: record?.owner ?? last?.owner,
      renewal: record?.renewal,
      stamp,
      logSize,
      hasTurn: record?.hasTurn === true,
      isReleased: record?.isReleased === true,
      stillMs: last && isStill && !isAlive ? last.stillMs + gapMs : 0,
      at,
    };
  }

  return {
    check(id, directory) {
      const last = seen.get(id);
      if (isFrozen) return last ?? UNSEEN;
      if (last && last.at > freshFrom && now() - last.at < freshMs) return last;
      const sight = see(directory, last);
      const known = { ...sight, proof: undefined, ...judge(sight, directory) };
      seen.set(id, known);
      return known;
    },
    expire: () => void (freshFrom = now()),
    freeze: (isNow) => void (isFrozen = isNow),
    forget: (id) => void seen.delete(id),
  };
}

/** Without a start time, its pid may by now be another process's. */
export function isProvenAlive(owner: Owner): boolean {
  return owner.startTime !== undefined && ownerState(owner) === "alive";
}

function judge(seen: Seen, directory: string): Pick<OwnerSight, "lease" | "proof"> {
  const { owner, renewal, stamp, isReleased, stillMs } = seen;
  if (isReleased || (owner && ownerState(owner) === "gone")) {
    return { lease: "gone", proof: stamp };
  }
  if (renewal !== undefined) return { lease: stillMs > SILENCE_MS ? "silent" : "held" };
  if (stillMs <= MISSING_MS && isFolder(directory)) return { lease: "held" };
  // If the owner comes back after all, it writes the lease again, which changes the stamp.
  return { lease: "gone", proof: stamp };
}
