import { lstatSync, mkdirSync, readdirSync, realpathSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { type Lock, LOCK_SILENCE_MS, takeLock } from "../../disk/lock.ts";
import { KitError } from "../../protocol/error.ts";
import {
  type PartialDirectory,
  beginDirectory,
  beginWithin,
  cannotSave,
} from "../checkpoint/directory.ts";
import type { FetchOptions } from "../hub/fetchModel.ts";

/** Where an export writes until it is whole. */
export interface Place {
  /** What the paths of all that it writes for itself begin with. */
  work: string;
  begin: (partial: string) => PartialDirectory;
}

const WORK = ".kit-export";

/**
 * Stages the files beside a new folder, or inside an existing one, whose parent may not be writable.
 * @param mainFile is moved last into an existing folder
 */
export function placeOf(target: string, mainFile: string): Place {
  if (!isThere(target)) {
    const work = join(dirname(target), `.${basename(target)}${WORK}`);
    return { work, begin: (partial) => beginDirectory(target, partial) };
  }
  // Of a link.
  const folder = realpathSync(target);
  const begin = (partial: string) => beginWithin(folder, partial, mainFile);
  return { work: join(folder, WORK), begin };
}

/** Removes what killed exports left. Needs the lock. */
export function removeLeft(work: string): void {
  const [parent, begin] = [dirname(work), `${basename(work)}.`];
  for (const name of readdirSync(parent)) {
    const isLeft =
      name.startsWith(begin) && /^[0-9a-f]{12}\.partial$/.test(name.slice(begin.length));
    if (isLeft) rmSync(join(parent, name), { recursive: true, force: true });
  }
}

function isThere(target: string): boolean {
  try {
    return Boolean(lstatSync(target));
  } catch {
    return false;
  }
}

/** @throws KitError `CANNOT_WRITE` where something is already */
export function assertEmpty(target: string): void {
  if (!isThere(target)) return;
  // A link that leads nowhere is something, too.
  const isFolder = statSync(target, { throwIfNoEntry: false })?.isDirectory();
  // What a killed export has left is removed.
  if (isFolder && readdirSync(target).every((name) => name.startsWith(`${WORK}.`))) return;
  throw new KitError(
    "CANNOT_WRITE",
    `There is something at ${target} already. Name a folder that is empty or not there yet.`,
  );
}

/** @throws KitError `CANNOT_WRITE` while another export writes there */
export async function lockTarget(
  target: string,
  { work }: Place,
  options: Pick<FetchOptions, "signal" | "onNote">,
): Promise<Lock> {
  const { signal, onNote = () => {} } = options;
  const onWait = () =>
    onNote(
      `waiting up to ${LOCK_SILENCE_MS / 1000} s for another export to ${target}, which is not on this machine`,
    );
  let lock: Lock | undefined;
  try {
    mkdirSync(dirname(target), { recursive: true });
    lock = await takeLock(`${work}.lock`, 0, { signal, onWait });
  } catch (cause) {
    signal?.throwIfAborted();
    throw cannotSave(target, cause);
  }
  if (lock) return lock;
  throw new KitError(
    "CANNOT_WRITE",
    `Another export is writing ${target}. Wait until it ends, or name another folder.`,
  );
}
