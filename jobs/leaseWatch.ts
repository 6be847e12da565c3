import { isFolder, statsOf } from "../disk/file.ts";
import { RENEWAL_MS, readLease } from "./lease.ts";
import { type Owner, ownerState } from "../disk/owner.ts";
import { logPath } from "./paths.ts";

/** An owner we cannot see is taken for dead when its lease and its log stood still for this long. */
export const SILENCE_MS = 60_000;
/** No owner lives whose lease is not there for this long: each renewal writes it anew. */
export const MISSING_MS = 2 * RENEWAL_MS;
/** A reader that looks less often was itself stopped; more than this of it is no owner's silence. */
export const LOOK_MS = 10_000;

/** `silent`: out of our sight, and without a sign of life for {@link SILENCE_MS}. */
export type LeaseState = "held" | "gone" | "silent";

/** What is seen of a job's owner. */
export interface OwnerSight {
  lease: LeaseState;
  /** Whether it has claimed the job's turn to train. */
  hasTurn: boolean;
}

export interface LeaseWatch {
  look: (id: string, directory: string) => OwnerSight;
  /** For as long as it holds, each look sees what the last one did. */
  hold: (isHeld: boolean) => void;
  forget: (id: string) => void;
}

interface Seen extends OwnerSight {
  /** Who holds the lease, or held it last. */
  owner?: Owner;
  /** Undefined while there is no lease. */
  renewal?: number;
  isReleased: boolean;
  /** In bytes; a log that grows is a sign of life, too. */
  logSize?: number;
  /** How long it has been like that before this reader's eyes. */
  stillMs: number;
  /** When it was looked at last. */
  at: number;
}

const UNSEEN: OwnerSight = { lease: "held", hasTurn: false };

/**
 * Reads leases over time. An owner that is proven to be alive holds its lease; for any other, what
 * counts is how long this reader, on its own clock, saw no sign of life.
 * @param freshMs how long what was seen counts, for all who look
 */
export function createLeaseWatch(
  freshMs = 0,
  now: () => number = () => performance.now(),
): LeaseWatch {
  const seen = new Map<string, Seen>();
  let isHeld = false;

  function see(directory: string, last: Seen | undefined): Omit<Seen, "lease"> {
    const at = now();
    const found = readLease(directory);
    // Nothing was learnt, and so none of this time counts.
    if (found === "unreadable" && last?.owner) return { ...last, at };
    const record = typeof found === "string" ? undefined : found;
    const logSize = statsOf(logPath(directory))?.size;
    const isStill = last?.renewal === record?.renewal && last?.logSize === logSize;
    const isAlive = record !== undefined && isProvenAlive(record.owner);
    return {
      owner: record?.owner ?? last?.owner,
      renewal: record?.renewal,
      logSize,
      hasTurn: record?.hasTurn === true,
      isReleased: record?.isReleased === true,
      stillMs: last && isStill && !isAlive ? last.stillMs + Math.min(at - last.at, LOOK_MS) : 0,
      at,
    };
  }

  return {
    look(id, directory) {
      const last = seen.get(id);
      if (isHeld) return last ?? UNSEEN;
      if (last && now() - last.at < freshMs) return last;
      const sight = see(directory, last);
      const known = { ...sight, lease: judge(sight, directory) };
      seen.set(id, known);
      return known;
    },
    hold: (nowHeld) => void (isHeld = nowHeld),
    forget: (id) => void seen.delete(id),
  };
}

/** Without a start time, its pid may by now be another process's. */
function isProvenAlive(owner: Owner): boolean {
  return owner.startTime !== null && ownerState(owner) === "alive";
}

function judge(seen: Omit<Seen, "lease">, directory: string): LeaseState {
  const { owner, renewal, isReleased, stillMs } = seen;
  if (isReleased) return "gone";
  if (owner && ownerState(owner) === "gone") return "gone";
  if (renewal !== undefined) return stillMs > SILENCE_MS ? "silent" : "held";
  return stillMs > MISSING_MS || !isFolder(directory) ? "gone" : "held";
}
