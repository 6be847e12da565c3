import { randomBytes } from "node:crypto";
import { lstatSync, renameSync, rmSync } from "node:fs";

/** Errors of Windows while another process, such as a virus scanner, has a file or one in a folder open. */
const BUSY_CODES = new Set(["EPERM", "EACCES", "EBUSY", "ENOTEMPTY"]);
/** The last of the pauses, which double from 1 ms: about a second in all. */
const MAX_PAUSE_MS = 512;

const neverWoken = new Int32Array(new SharedArrayBuffer(4));

/** Whether Windows refused a change because another process has the file open. */
export function isBusy(error: unknown): boolean {
  if (process.platform !== "win32") return false;
  return BUSY_CODES.has(String((error as NodeJS.ErrnoException).code));
}

/**
 * Repeats what Windows refuses while another process has the file open, for about a second.
 * @param isWorthwhile whether to repeat it
 */
export function whileBusy<T>(work: () => T, isWorthwhile: () => boolean = () => true): T {
  for (let pauseMs = 1; ; pauseMs *= 2) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error) || pauseMs > MAX_PAUSE_MS || !isWorthwhile()) throw error;
      Atomics.wait(neverWoken, 0, 0, pauseMs);
    }
  }
}

/**
 * Renames a file or a folder. Replaces a file even while it is open; its readers keep the old one.
 * @throws the errors of `renameSync`
 */
export function move(from: string, to: string): void {
  try {
    // A folder never replaces another on Windows.
    const isFree = () => kindOf(to) !== "folder";
    whileBusy(() => renameSync(from, to), isFree);
  } catch (error) {
    if (!isBusy(error) || kindOf(to) !== "file") throw error;
    replaceOpen(from, to);
  }
}

/** Windows moves an open file, but doesn't replace it. */
function replaceOpen(from: string, to: string): void {
  const aside = `${to}.${randomBytes(6).toString("hex")}.tmp`;
  renameSync(to, aside);
  try {
    renameSync(from, to);
  } catch (error) {
    renameSync(aside, to);
    throw error;
  }
  tryRemove(aside);
}

/** Removes a file or a folder, if it is there. */
export function remove(path: string): void {
  whileBusy(() => rmSync(path, { recursive: true, force: true }));
}

/** As `remove`; leaves what can't be removed. */
export function tryRemove(path: string): void {
  try {
    remove(path);
  } catch {
    // Another user's, say. Leftovers only use disk.
  }
}

function kindOf(path: string): "file" | "folder" | undefined {
  try {
    return lstatSync(path).isDirectory() ? "folder" : "file";
  } catch {
    // Nothing is there, or it is being removed.
    return undefined;
  }
}
