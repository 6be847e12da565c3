import { closeSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isFolder, openPlain, readJson, writeFileAtomically } from "./file.ts";
import { type Owner, describeOwner, ownerState } from "./owner.ts";

export const RENEWAL_MS = 5_000;
/** An owner we cannot see is taken for dead when its lease stood still for this long. */
export const SILENCE_MS = 60_000;
/** No owner lives whose lease is not there for this long: each renewal writes it anew. */
export const MISSING_MS = 2 * RENEWAL_MS;
/** A reader that looks less often was itself stopped; more than this of it is no owner's silence. */
export const LOOK_MS = 10_000;

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
  /** For as long as it holds, each check answers as the last one did. */
  hold: (isHeld: boolean) => void;
  forget: (id: string) => void;
}

interface Sight {
  /** Who holds the lease, or held it last. */
  owner?: Owner;
  /** Undefined while there is no lease. */
  renewal?: number;
  /** How long it has been like that before this reader's eyes. */
  stillMs: number;
  /** When it was looked at last. */
  at: number;
}

interface Seen extends Sight {
  state: LeaseState;
}

/** Reads leases over time. What counts is how long this reader, on its own clock, saw no renewal. */
export function createLeaseWatch(now: () => number = () => performance.now()): LeaseWatch {
  const seen = new Map<string, Seen>();
  let isHeld = false;

  function look(id: string, directory: string): Sight {
    const at = now();
    const last = seen.get(id);
    const found = readLease(directory);
    // Nothing was learnt, and so none of this time counts.
    if (found === "unreadable" && last?.owner) return { ...last, at };
    const record = typeof found === "string" ? undefined : found;
    const isStill = last !== undefined && last.renewal === record?.renewal;
    return {
      owner: record?.owner ?? last?.owner,
      renewal: record?.renewal,
      stillMs: isStill ? last.stillMs + Math.min(at - last.at, LOOK_MS) : 0,
      at,
    };
  }

  return {
    check(id, directory) {
      if (isHeld) return seen.get(id)?.state ?? "held";
      const sight = look(id, directory);
      const state = judge(sight, directory);
      seen.set(id, { ...sight, state });
      return state;
    },
    hold: (nowHeld) => void (isHeld = nowHeld),
    forget: (id) => void seen.delete(id),
  };
}

function judge({ owner, renewal, stillMs }: Sight, directory: string): LeaseState {
  if (owner && ownerState(owner) === "gone") return "gone";
  if (renewal !== undefined) return stillMs > SILENCE_MS ? "silent" : "held";
  return stillMs > MISSING_MS || !isFolder(directory) ? "gone" : "held";
}

/** `unreadable`: for a reason that is not the lease's, such as too many open files. */
function readLease(directory: string): LeaseRecord | "missing" | "unreadable" {
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
