import { closeSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { WRITE_ITSELF, openPlain, readJson, writeFileAtomically } from "../disk/file.ts";
import { type Owner, describeOwner } from "../disk/owner.ts";

export const RENEWAL_MS = 5_000;

/** `lease.json` */
export interface LeaseRecord {
  owner: Owner;
  /** Rises with each renewal. Readers compare it, never clocks of two machines. */
  renewal: number;
  /** Whether the job has claimed its turn to train. */
  hasTurn?: boolean;
  /** Its owner gave the job up, and may live on. */
  isReleased?: boolean;
}

/** Shows that a job's owner is alive, for as long as it is held. */
export interface Lease {
  /** Tells the jobs that wait whether this one takes its turn. */
  claimTurn: (hasTurn: boolean) => void;
  /** Stops renewing, and says so. Idempotent. */
  release: () => void;
}

export function holdLease(directory: string): Lease {
  const path = leasePath(directory);
  const owner = describeOwner();
  let renewal = -1;
  let hasTurn = false;
  let isReleased = false;
  const recordNow = (): LeaseRecord => ({ owner, renewal, hasTurn });
  const renew = () => {
    renewal++;
    writeFileAtomically(path, JSON.stringify(recordNow()));
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
    release() {
      if (isReleased) return;
      isReleased = true;
      clearInterval(timer);
      try {
        sayReleased(path, recordNow());
      } catch {
        // A deleted job, or a folder that became read-only: readers ask whether the process lives.
      }
    },
  };
}

/** In its place, which a full disk has room for. What it says is longer, so nothing is cut off. */
function sayReleased(path: string, record: LeaseRecord): void {
  const file = openPlain(path, WRITE_ITSELF);
  try {
    writeSync(file, JSON.stringify({ ...record, isReleased: true } satisfies LeaseRecord), 0);
  } finally {
    closeSync(file);
  }
}

/** Who holds the lease, or held it last. */
export function leaseOwner(directory: string): Owner | undefined {
  return (readJson(leasePath(directory)) as LeaseRecord | undefined)?.owner;
}

/** `unreadable`: for a reason that is not the lease's, such as too many open files. */
export function readLease(directory: string): LeaseRecord | "missing" | "unreadable" {
  let file: number | undefined;
  try {
    file = openPlain(leasePath(directory));
    const record = JSON.parse(readFileSync(file, "utf8")) as Partial<LeaseRecord> | null;
    const isWhole = record?.owner !== undefined && record.renewal !== undefined;
    return isWhole ? (record as LeaseRecord) : "missing";
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === undefined || NO_LEASE.has(code) ? "missing" : "unreadable";
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** What is said of a file that is not there, or is none of ours. */
const NO_LEASE = new Set(["ENOENT", "ENOTDIR", "ELOOP", "NO_FILE"]);

function leasePath(directory: string): string {
  return join(directory, "lease.json");
}
