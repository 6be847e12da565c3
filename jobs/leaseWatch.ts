import { isFolder } from "../disk/file.ts";
import { RENEWAL_MS, readLease } from "./lease.ts";
import { type Owner, ownerState } from "../disk/owner.ts";

/** An owner we cannot see is taken for dead when its lease stood still for this long. */
export const SILENCE_MS = 60_000;
/** No owner lives whose lease is not there for this long: each renewal writes it anew. */
export const MISSING_MS = 2 * RENEWAL_MS;
/** A reader that looks less often was itself stopped; more than this of it is no owner's silence. */
export const LOOK_MS = 10_000;

/** `silent`: out of our sight, and not renewed for {@link SILENCE_MS}. */
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
  /** How long it has been like that before this reader's eyes. */
  stillMs: number;
  /** When it was looked at last. */
  at: number;
}

const UNSEEN: OwnerSight = { lease: "held", hasTurn: false };

/**
 * Reads leases over time. What counts is how long this reader, on its own clock, saw no renewal.
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
    const isStill = last !== undefined && last.renewal === record?.renewal;
    return {
      owner: record?.owner ?? last?.owner,
      renewal: record?.renewal,
      hasTurn: record?.hasTurn === true,
      stillMs: isStill ? last.stillMs + Math.min(at - last.at, LOOK_MS) : 0,
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

function judge({ owner, renewal, stillMs }: Omit<Seen, "lease">, directory: string): LeaseState {
  if (owner && ownerState(owner) === "gone") return "gone";
  if (renewal !== undefined) return stillMs > SILENCE_MS ? "silent" : "held";
  return stillMs > MISSING_MS || !isFolder(directory) ? "gone" : "held";
}
