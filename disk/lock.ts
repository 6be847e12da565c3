import { randomUUID } from "node:crypto";
import { mkdirSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { stampAt, statsOf, writeFileAtomically, OWNER_ONLY_FOLDER } from "./file.ts";
import { readRecord } from "./json.ts";
import { type LeaseRecord, watchLease } from "./lease.ts";
import { isBusy, move, remove, tryRemove } from "./move.ts";
import { describeOwner } from "./owner.ts";

/**
 * A holder that we can't check, because it runs in another container or its record is damaged, loses the
 * lock after this. Shorter than proxies wait for `kit ui`; nginx waits 60 s.
 */
export const LOCK_SILENCE_MS = 30_000;

const POLL_MS = 100;
const RENEWAL_MS = 2_000;

export interface Lock {
  /** False once another process took over the lock from this suspended one. */
  isHeld: () => boolean;
  /** Keeps the lock held while another process lives, even if this one is killed. */
  shareWith: (pid: number) => void;
  /** Releases the lock, unless another process took it over. Idempotent. */
  release: () => void;
}

export interface LockOptions {
  signal?: AbortSignal | undefined;
  /** Called once if it has to wait. */
  onWait?: () => void;
  /** Waits for this many ms. */
  pause?: (ms: number) => Promise<unknown>;
}

/**
 * Takes an interprocess lock: a folder that names its holder, which renews it periodically. A dead
 * holder's lock is taken over.
 * @param limitMs how long to wait for a living holder. One that we can't check gets
 * {@link LOCK_SILENCE_MS} to show a sign of life
 * @returns undefined when another process held it until the limit
 * @throws the signal's reason, and file system errors
 */
export async function takeLock(
  path: string,
  limitMs: number,
  options: LockOptions = {},
): Promise<Lock | undefined> {
  const { signal, onWait = () => {} } = options;
  const { pause = (ms) => delay(ms, undefined, { signal }) } = options;
  const deadline = performance.now() + limitMs;
  const observe = watchHolder(path);
  for (let isFirst = true; ; isFirst = false) {
    const holder = observe();
    const abandoned = typeof holder === "object" ? holder : undefined;
    const lock = abandoned || holder === "none" ? tryLock(path, abandoned) : undefined;
    if (lock) return lock;
    if (holder !== "unsure" && performance.now() >= deadline) return undefined;
    if (isFirst) onWait();
    await pause(POLL_MS);
  }
}

/** A lock whose holder is gone. */
interface AbandonedLock {
  /** Path to which its folder is moved; only one of several processes succeeds. */
  aside: string;
  stamp: string;
}

/** `unsure`: we can't check the holder, and it has shown no sign of life yet. */
type Holder = "none" | "held" | "unsure" | AbandonedLock;

function watchHolder(path: string): () => Holder {
  const observe = watchLease(ownerPath(path));
  return () => {
    const folder = statsOf(path);
    if (!folder?.isDirectory()) return "none";
    const { record, stamp, state, silentMs, hasChanged } = observe();
    if (
      record?.isReleased ||
      state === "gone" ||
      (state === "unknown" && silentMs > LOCK_SILENCE_MS)
    ) {
      return { aside: `${path}.dead-${folder.ino}-${Math.round(folder.mtimeMs)}`, stamp };
    }
    return state === "alive" || hasChanged ? "held" : "unsure";
  };
}

/** `owner.json` of a lock. */
interface LockRecord extends LeaseRecord {
  token: string;
}

function tryLock(path: string, abandoned?: AbandonedLock): Lock | undefined {
  const token = randomUUID();
  const newFolder = `${path}.${token}`;
  mkdirSync(newFolder, OWNER_ONLY_FOLDER);
  try {
    writeRecord(newFolder, { owner: describeOwner(), token });
    if (abandoned && !moveAbandoned(path, abandoned)) return undefined;
    if (moveFolder(newFolder, path)) return hold(path, token, abandoned);
    if (abandoned) remove(abandoned.aside);
    return undefined;
  } finally {
    remove(newFolder);
  }
}

function moveAbandoned(path: string, { aside, stamp }: AbandonedLock): boolean {
  if (!moveFolder(path, aside)) return false;
  if (stampAt(ownerPath(aside)) === stamp) return true;
  // Its holder woke up, or another process was faster.
  moveFolder(aside, path);
  return false;
}

function hold(path: string, token: string, abandoned: AbandonedLock | undefined): Lock {
  function isHeld(): boolean {
    const holder = readRecord(ownerPath(path));
    return holder === undefined || holder.token === token;
  }
  const renewal = setInterval(() => {
    try {
      const now = new Date();
      if (isHeld()) utimesSync(ownerPath(path), now, now);
    } catch {
      // A removed lock or a read-only disk. Others then rightly see an unchanged lock.
    }
  }, RENEWAL_MS);
  renewal.unref();
  return {
    isHeld,
    shareWith(pid) {
      const borrower = describeOwner(pid);
      if (isHeld()) writeRecord(path, { owner: describeOwner(), token, borrower });
    },
    release() {
      clearInterval(renewal);
      // Moved first, because another process could take a folder that is being emptied.
      const aside = `${path}.${token}`;
      if (isHeld() && moveFolder(path, aside)) tryRemove(aside);
      else if (readRecord(ownerPath(path))?.token === token) {
        // On Windows, another process has a file in it open; the next holder moves it.
        writeRecord(path, { owner: describeOwner(), token, isReleased: true });
      }
      if (abandoned) tryRemove(abandoned.aside);
    },
  };
}

function writeRecord(path: string, record: LockRecord): void {
  writeFileAtomically(ownerPath(path), JSON.stringify(record));
}

function ownerPath(path: string): string {
  return join(path, "owner.json");
}

/** @returns false when the target is not empty or the source is missing */
function moveFolder(from: string, to: string): boolean {
  try {
    move(from, to);
    return true;
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    // Windows has other codes.
    if (["ENOTEMPTY", "EEXIST", "ENOENT"].includes(code) || isBusy(error)) return false;
    throw error;
  }
}
