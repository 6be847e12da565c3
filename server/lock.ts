import { randomUUID } from "node:crypto";
import { mkdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { readJson } from "../jobs/file.ts";
import { type Owner, describeOwner, ownerState } from "../jobs/owner.ts";

/** Whether a holder in another container still lives cannot be asked; none holds it this long. */
const FOREIGN_HOLDER_MS = 10_000;

const POLL_MS = 20;

/**
 * Takes a lock among processes: a folder that names its holder. A dead holder's is taken over.
 * @returns gives it back; undefined when another has held it all the time
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
  mkdirSync(mine, { mode: 0o700 });
  writeFileSync(join(mine, "owner.json"), JSON.stringify(describeOwner()), { mode: 0o600 });
  if (moveFolder(mine, path)) return () => rmSync(path, { recursive: true, force: true });
  const dead = deadHolder(path);
  // Of two that find the same dead holder only one can move it aside: the name is taken for good.
  const isFree = dead !== undefined && moveFolder(path, `${path}.dead-${dead}`);
  if (isFree && moveFolder(mine, path)) {
    return () => rmSync(path, { recursive: true, force: true });
  }
  rmSync(mine, { recursive: true, force: true });
  return undefined;
}

/** @returns false where there is one with something in it, or none to move */
function moveFolder(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    // EPERM: as Windows says it.
    if (["ENOTEMPTY", "EEXIST", "ENOENT", "EPERM"].includes(code)) return false;
    throw error;
  }
}

/** A name for the holder, when it is gone. */
function deadHolder(path: string): string | undefined {
  const owner = readJson(join(path, "owner.json")) as Owner | undefined;
  if (!owner) return undefined;
  const state = ownerState(owner);
  const isGone = state === "gone" || (state === "unknown" && ageOf(path) > FOREIGN_HOLDER_MS);
  return isGone ? `${owner.pid}-${owner.startTime ?? owner.host}` : undefined;
}

function ageOf(path: string): number {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat ? Date.now() - stat.mtimeMs : 0;
}
