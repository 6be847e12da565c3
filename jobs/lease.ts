import { join } from "node:path";
import { readJson, writeFileAtomically } from "./file.ts";
import { type Owner, type OwnerState, describeOwner, ownerState } from "./owner.ts";

export const RENEWAL_MS = 5_000;
/** An owner we cannot see is taken for dead when its lease stood still for this long. */
export const SILENCE_MS = 60_000;

interface LeaseRecord {
  owner: Owner;
  /** Rises with each renewal. Readers compare it, never clocks of two machines. */
  renewal: number;
  /** Whether the job has claimed its turn to train. */
  hasTurn: boolean;
}

/** Shows that a job's owner is alive, for as long as it is held. */
export interface Lease {
  /** Tells the jobs that wait whether this one takes its turn. */
  claimTurn: (hasTurn: boolean) => void;
  /** Stops renewing. Idempotent. */
  release: () => void;
}

export function holdLease(directory: string): Lease {
  const path = leasePath(directory);
  const owner = describeOwner();
  let renewal = 0;
  let hasTurn = false;
  const renew = () => {
    const record: LeaseRecord = { owner, renewal: renewal++, hasTurn };
    writeFileAtomically(path, JSON.stringify(record));
  };
  renew();
  const timer = setInterval(() => {
    try {
      renew();
    } catch {
      // A full disk or a deleted job: readers see the lease stand still, which is the truth.
    }
  }, RENEWAL_MS);
  timer.unref();
  return {
    claimTurn(claimed) {
      hasTurn = claimed;
      renew();
    },
    release: () => clearInterval(timer),
  };
}

/** Whether a job has claimed its turn, by its owner's last renewal. */
export function hasClaimedTurn(directory: string): boolean {
  const record = readJson(leasePath(directory)) as LeaseRecord | undefined;
  return record?.hasTurn === true;
}

/** Who holds the lease, or held it last. */
export function leaseOwner(directory: string): Owner | undefined {
  return (readJson(leasePath(directory)) as LeaseRecord | undefined)?.owner;
}

/** `silent`: out of our sight, and not renewed for {@link SILENCE_MS}. */
export type LeaseState = "held" | "gone" | "silent";

export interface LeaseWatch {
  check: (id: string, directory: string) => LeaseState;
  forget: (id: string) => void;
}

/** Reads leases over time. What counts is how long this reader, on its own clock, saw no renewal. */
export function createLeaseWatch(now: () => number = () => performance.now()): LeaseWatch {
  const seen = new Map<string, { renewal: number; at: number }>();
  return {
    check(id, directory) {
      const record = readJson(leasePath(directory)) as LeaseRecord | undefined;
      if (!record?.owner) return "gone";
      const state: OwnerState = ownerState(record.owner);
      if (state === "gone") return "gone";
      const last = seen.get(id);
      if (last?.renewal !== record.renewal) {
        seen.set(id, { renewal: record.renewal, at: now() });
        return "held";
      }
      return now() - last.at > SILENCE_MS ? "silent" : "held";
    },
    forget: (id) => void seen.delete(id),
  };
}

function leasePath(directory: string): string {
  return join(directory, "lease.json");
}
