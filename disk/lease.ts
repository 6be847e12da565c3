import { closeSync, fstatSync, readFileSync, writeSync } from "node:fs";
import { isRecord } from "../protocol/isRecord.ts";
import { WRITE_FLAGS, isMissing, openRegular, stampOf, writeFileAtomically } from "./file.ts";
import { type Owner, type OwnerState, describeOwner, isSameProcess, ownerState } from "./owner.ts";

/** How often the holder of a job or a run renews its lease. */
export const RENEWAL_MS = 5_000;
/** Maximum silence counted between two checks; in a longer gap, the reader may have been asleep. */
export const MAX_GAP_MS = 2 * RENEWAL_MS;

/** The holder of a job, a run or a lock. */
export interface LeaseRecord {
  owner: Owner;
  /**
   * Increases with each renewal; a lock renews its file's time instead. Readers compare it, never two
   * machines' clocks.
   */
  renewal?: number;
  /** The owner released it; its process may still run. */
  isReleased?: boolean;
  /** Another process, which holds the lease once the owner is gone. */
  borrower?: Owner;
}

/** A held lease, which shows that its owner is alive. */
export interface Lease<T> {
  /** Publishes changes at once, even after the release. */
  update: (changed: Partial<T>) => void;
  /** Stops renewing, and records the release. Idempotent. */
  release: () => void;
}

/**
 * @param fields further fields of the record
 * @param onTaken called when another process takes the lease
 */
export function holdLease<T extends object>(
  path: string,
  fields: T,
  onTaken: () => void = () => {},
): Lease<T> {
  const owner = describeOwner();
  let renewal = -1;
  let current = fields;
  let isReleased = false;
  const recordNow = () => ({ ...current, owner, renewal });
  const renew = () => {
    renewal++;
    const record = { ...recordNow(), ...(isReleased && { isReleased }) };
    writeFileAtomically(path, JSON.stringify(record));
  };
  renew();
  const timer = setInterval(() => {
    if (isTaken(path, owner)) {
      isReleased = true;
      clearInterval(timer);
      return onTaken();
    }
    try {
      renew();
    } catch {
      // A full disk or a deleted job. Readers then rightly see an unchanged lease.
    }
  }, RENEWAL_MS);
  timer.unref();
  return {
    update(changed) {
      current = { ...current, ...changed };
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
function isTaken(path: string, owner: Owner): boolean {
  const holder = leaseOwner(path);
  return holder !== undefined && !isSameProcess(holder, owner);
}

/** Writes in place, which works on a full disk. The new content is longer, so it overwrites all of the old. */
function markReleased(path: string, record: LeaseRecord): void {
  const file = openRegular(path, WRITE_FLAGS);
  try {
    writeSync(file, JSON.stringify({ ...record, isReleased: true } satisfies LeaseRecord), 0);
  } finally {
    closeSync(file);
  }
}

/** The lease's holder, or its last one. */
export function leaseOwner(path: string): Owner | undefined {
  const lease = readLease(path);
  return lease === "unreadable" ? undefined : lease.record?.owner;
}

/** A lease and its file's stamp before reading. */
interface StampedLease<T> {
  /** Undefined when the file is missing, or is not a lease. */
  record?: T | undefined;
  /** Empty when the file is missing. */
  stamp: string;
}

/** `unreadable`: for a reason unrelated to the lease, such as too many open files. */
export function readLease<T extends LeaseRecord>(path: string): StampedLease<T> | "unreadable" {
  let file: number | undefined;
  let stamp = "";
  try {
    file = openRegular(path);
    stamp = stampOf(fstatSync(file));
    return { record: asLease(JSON.parse(readFileSync(file, "utf8"))) as T | undefined, stamp };
  } catch (error) {
    const isDamaged = (error as NodeJS.ErrnoException).code === undefined;
    return isDamaged || isMissing(error) ? { stamp } : "unreadable";
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function asLease(value: unknown): object | undefined {
  if (!isRecord(value)) return undefined;
  // In a lock of an earlier Kit, the record is the owner.
  const owner = "pid" in value ? value : value.owner;
  return isRecord(owner) ? { ...value, owner } : undefined;
}

/** A reader's observation of a lease so far. */
export interface LeaseObservation<T> extends StampedLease<T> {
  /** State of the current or last holder. */
  state: OwnerState;
  /** How long this reader has seen no sign of life, by its own clock. */
  silentMs: number;
  hasChanged: boolean;
}

/**
 * Returns a function that observes a lease. A change since the last call is a sign of life, and so is a
 * process proven to be alive.
 * @param extraSign another value whose change is a sign of life
 */
export function watchLease<T extends LeaseRecord>(
  path: string,
  extraSign: () => unknown = () => "",
  now: () => number = () => performance.now(),
): () => LeaseObservation<T> {
  let last: (LeaseObservation<T> & { sign: string; at: number; quietMs: number }) | undefined;
  let holder: LeaseRecord | undefined;
  return () => {
    const at = now();
    const lease = readLease<T>(path);
    // An unreadable lease tells nothing, so this time doesn't count.
    const isUnreadable = lease === "unreadable";
    const { record, stamp } = isUnreadable ? (last ?? { record: undefined, stamp: "" }) : lease;
    const sign = isUnreadable
      ? (last?.sign ?? "")
      : [record?.owner.pid, record?.renewal ?? stamp, extraSign()].join(" ");
    holder = record ?? holder;
    const isHeard = last !== undefined && sign !== last.sign;
    const gapMs = last && !isUnreadable ? Math.min(at - last.at, MAX_GAP_MS) : 0;
    const quietMs = isHeard ? 0 : (last?.quietMs ?? Infinity) + gapMs;
    // Longer than a gap, so that a holder that slept, too, can renew its lease before we ask the system.
    const state = holder ? stateOf(holder, quietMs <= 2 * MAX_GAP_MS) : "unknown";
    const hasChanged = isHeard || last?.hasChanged === true;
    const isSilent = sign === last?.sign && state !== "alive";
    const silentMs = isSilent ? (last?.silentMs ?? 0) + gapMs : 0;
    last = { record, stamp, sign, state, silentMs, hasChanged, at, quietMs };
    return last;
  };
}

function stateOf({ owner, borrower }: LeaseRecord, isHeard: boolean): OwnerState {
  const state = ownerState(owner, isHeard);
  return state === "gone" && borrower ? ownerState(borrower) : state;
}
