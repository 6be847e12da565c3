import { lstatSync, mkdirSync, readdirSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { type Lock, LOCK_SILENCE_MS, takeLock } from "../../disk/lock.ts";
import { remove } from "../../disk/move.ts";
import { KitError } from "../../protocol/error.ts";
import {
  type PartialDirectory,
  stageDirectory,
  stageWithin,
  cannotSave,
} from "../checkpoint/directory.ts";
import type { FetchOptions } from "../hub/fetchModel.ts";

/** Where an export stages its files. */
export interface StagingArea {
  /** Prefix of its temporary paths and of its lock. */
  work: string;
  begin: (partial: string) => PartialDirectory;
}

const WORK = ".kit-export";
/** Leftovers of a killed export, which are removed later, and what macOS writes into a folder. */
const MAY_STAY = /^(\.kit-export\.|\.DS_Store$|\._)/;

/**
 * Stages files beside a new folder, or inside an existing one, whose parent may not be writable.
 * @param mainFile the file to move last into an existing folder
 */
export function stagingArea(target: string, mainFile: string): StagingArea {
  if (!exists(target)) {
    const work = join(dirname(target), `.${basename(target)}${WORK}`);
    return { work, begin: (partial) => stageDirectory(target, partial) };
  }
  // The target may be a link.
  const folder = realpathSync(target);
  const begin = (partial: string) => stageWithin(folder, partial, mainFile);
  return { work: join(folder, WORK), begin };
}

/** Removes leftovers of killed exports. The caller must hold the lock. */
export function removeLeftovers(work: string): void {
  const [parent, prefix] = [dirname(work), `${basename(work)}.`];
  for (const name of readdirSync(parent)) {
    const isLeftover =
      name.startsWith(prefix) && /^[0-9a-f]{12}\.partial$/.test(name.slice(prefix.length));
    if (isLeftover) remove(join(parent, name));
  }
}

function exists(target: string): boolean {
  try {
    return Boolean(lstatSync(target));
  } catch {
    return false;
  }
}

/** @throws KitError `CANNOT_WRITE` if the target exists and isn't empty */
export function assertEmpty(target: string): void {
  if (!exists(target)) return;
  // A dangling link exists, too.
  const isFolder = statSync(target, { throwIfNoEntry: false })?.isDirectory();
  if (isFolder && readdirSync(target).every((name) => MAY_STAY.test(name))) return;
  throw new KitError("CANNOT_WRITE", `${target} already exists. Choose a new or empty folder.`);
}

/** @throws KitError `CANNOT_WRITE` while another export writes there */
export async function lockTarget(
  target: string,
  { work }: StagingArea,
  options: Pick<FetchOptions, "signal" | "onNote">,
): Promise<Lock> {
  const { signal, onNote = () => {} } = options;
  const onWait = () =>
    onNote(`waiting up to ${LOCK_SILENCE_MS / 1000} s for another machine's export to ${target}`);
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
    `Another export is writing ${target}. Wait for it to finish, or choose another folder.`,
  );
}
