import { randomUUID } from "node:crypto";
import { mkdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { readRecord } from "./json.ts";
import { OWNER_ONLY, OWNER_ONLY_FOLDER } from "./modes.ts";
import { type Owner, describeOwner, ownerState } from "./owner.ts";

/** A holder that we can't check, in another container or torn, loses the lock after this. */
const LONGEST_HOLD_MS = 10_000;

const POLL_MS = 20;

/**
 * Takes a lock among processes: a folder that names its holder. Takes over a dead holder's lock.
 * @returns the function that releases it; undefined when another process held it until the limit
 */
export async function takeLock(path: string, limitMs: number): Promise<(() => void) | undefined> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    const release = tryLock(path);
    if (release || performance.now() > deadline) return release;
    await delay(POLL_MS);
  }
}

function tryLock(path: string): (() => void) | undefined {
  const mine = `${path}.${randomUUID()}`;
  mkdirSync(mine, OWNER_ONLY_FOLDER);
  try {
    writeFileSync(join(mine, "owner.json"), JSON.stringify(describeOwner()), { mode: OWNER_ONLY });
    if (moveFolder(mine, path)) return () => free(path, mine);
    // Of two processes that find the same dead holder, only one can move it aside to this name.
    const aside = nameIfDead(path);
    if (!aside || !moveFolder(path, aside)) return undefined;
    if (moveFolder(mine, path)) {
      return () => {
        free(path, mine);
        remove(aside);
      };
    }
    remove(aside);
    return undefined;
  } finally {
    remove(mine);
  }
}

/** At once: another process could take a folder that is being emptied. */
function free(path: string, aside: string): void {
  if (moveFolder(path, aside)) remove(aside);
}

function remove(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}

/** @returns false when the target is not empty, or nothing is there to move */
function moveFolder(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    // EPERM: on Windows.
    if (["ENOTEMPTY", "EEXIST", "ENOENT", "EPERM"].includes(code)) return false;
    throw error;
  }
}

/** The path to move a dead holder's lock to; undefined while it is held. */
function nameIfDead(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (!stats) return undefined;
  const owner = readRecord(join(path, "owner.json")) as Owner | undefined;
  const state = owner ? ownerState(owner) : "unknown";
  const isOld = Date.now() - stats.mtimeMs > LONGEST_HOLD_MS;
  const isDead = state === "gone" || (state === "unknown" && isOld);
  return isDead ? `${path}.dead-${stats.ino}-${Math.round(stats.mtimeMs)}` : undefined;
}
