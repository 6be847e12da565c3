import { closeSync, fstatSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { WRITE_ITSELF, isMissing, openPlain, stampOf, writeFileAtomically } from "../disk/file.ts";
import { readRecord } from "../disk/json.ts";
import { type Owner, describeOwner } from "../disk/owner.ts";
import { isRecord } from "../protocol/isRecord.ts";

export const RENEWAL_MS = 5_000;

/** `lease.json` of a job or a run. */
export interface LeaseRecord {
  owner: Owner;
  /** Rises with each renewal. Readers compare it, never clocks of two machines. */
  renewal: number;
  /** The owner gave it up; its process may live on. */
  isReleased?: boolean;
}

/** `lease.json` of a job. */
export interface JobLease extends LeaseRecord {
  /** Whether the job has claimed its turn to train. */
  hasTurn?: boolean;
}

/** Shows that its owner is alive, for as long as it is held. */
export interface Lease<T> {
  /** Shows readers what changed at once, also after the release. */
  update: (changed: Partial<T>) => void;
  /** Stops renewing, and records that. Idempotent. */
  release: () => void;
}

/**
 * @param shown what readers find in the record besides
 * @param onTaken called when another process takes the lease
 */
export function holdLease<T extends object>(
  directory: string,
  shown: T,
  onTaken: () => void = () => {},
): Lease<T> {
  const path = leasePath(directory);
  const owner = describeOwner();
  let renewal = -1;
  let now = shown;
  let isReleased = false;
  const recordNow = () => ({ ...now, owner, renewal });
  const renew = () => {
    renewal++;
    const record = { ...recordNow(), ...(isReleased && { isReleased }) };
    writeFileAtomically(path, JSON.stringify(record));
  };
  renew();
  const timer = setInterval(() => {
    if (isTaken(directory, owner)) {
      isReleased = true;
      clearInterval(timer);
      return onTaken();
    }
    try {
      renew();
    } catch {
      // A full disk or a deleted job. Readers then rightly see a lease that stands still.
    }
  }, RENEWAL_MS);
  timer.unref();
  return {
    update(changed) {
      now = { ...now, ...changed };
      renew();
    },
    release() {
      if (isReleased) return;
      isReleased = true;
      clearInterval(timer);
      try {
        markReleased(path, recordNow());
      } catch {
        // A deleted job or a read-only folder. Readers then check the process itself.
      }
    },
  };
}

/** Whether another process took this lease. */
function isTaken(directory: string, owner: Owner): boolean {
  const holder = leaseOwner(directory);
  return holder !== undefined && (holder.pid !== owner.pid || holder.startTime !== owner.startTime);
}

/**
 * Writes in place, which works on a full disk. The new content is longer than the old, so it
 * overwrites all of it.
 */
function markReleased(path: string, record: LeaseRecord): void {
  const file = openPlain(path, WRITE_ITSELF);
  try {
    writeSync(file, JSON.stringify({ ...record, isReleased: true } satisfies LeaseRecord), 0);
  } finally {
    closeSync(file);
  }
}

/** The lease's holder, or its last one. */
export function leaseOwner(directory: string): Owner | undefined {
  return (readRecord(leasePath(directory)) as Partial<LeaseRecord> | undefined)?.owner;
}

/** A lease and the file's stamp from before it was read. */
export interface StampedLease {
  /** Undefined when the file is missing, or is not a lease. */
  record?: JobLease;
  /** Empty when the file is missing. */
  stamp: string;
}

/** `unreadable`: for a reason that is not the lease's, such as too many open files. */
export function readLease(directory: string): StampedLease | "unreadable" {
  let file: number | undefined;
  let stamp = "";
  try {
    file = openPlain(leasePath(directory));
    stamp = stampOf(fstatSync(file));
    const record: unknown = JSON.parse(readFileSync(file, "utf8"));
    return isLease(record) ? { record, stamp } : { stamp };
  } catch (error) {
    const isDamaged = (error as NodeJS.ErrnoException).code === undefined;
    return isDamaged || isMissing(error) ? { stamp } : "unreadable";
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function isLease(value: unknown): value is JobLease {
  return isRecord(value) && isRecord(value.owner) && value.renewal !== undefined;
}

export function leasePath(directory: string): string {
  return join(directory, "lease.json");
}
