import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readSync,
  readdirSync,
  statSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { KitError, messageOf } from "../../protocol/error.ts";

export interface OpenFile {
  file: number;
  size: number;
}

/**
 * Opens a file, calls `use` with it and closes it. Follows links, which hub caches use.
 * @throws KitError `CHECKPOINT_INVALID` if it is missing, unreadable or not a regular file
 */
export function useFile<T>(path: string, use: (file: OpenFile) => T): T {
  const found = useFileIfThere(path, use);
  if (found !== undefined) return found;
  throw new KitError(
    "CHECKPOINT_INVALID",
    `There is no ${path}. Pass the directory of a model or a checkpoint.`,
  );
}

/** As {@link useFile}; undefined if the file is missing. */
export function useFileIfThere<T>(path: string, use: (file: OpenFile) => T): T | undefined {
  const file = openIfExists(path);
  if (file === undefined) return undefined;
  try {
    const stats = fstatSync(file);
    if (stats.isFile()) return use({ file, size: stats.size });
  } finally {
    closeSync(file);
  }
  throw notRegular(path);
}

/**
 * Refuses pipes and devices in a directory, because reading them might never end.
 * @throws KitError `CHECKPOINT_INVALID`
 */
export function assertRegularFiles(directory: string): void {
  for (const name of readdirSync(directory)) {
    const path = join(directory, name);
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats && !stats.isFile() && !stats.isDirectory()) throw notRegular(path);
  }
}

function notRegular(path: string): KitError {
  return new KitError(
    "CHECKPOINT_INVALID",
    `${path} is not a regular file. Pass the directory of a model or a checkpoint.`,
  );
}

/** Fills a buffer from a position on. @returns false if the file is too short */
export function readFully(file: number, into: Uint8Array, position: number): boolean {
  for (let done = 0; done < into.length;) {
    const length = Math.min(into.length - done, CHUNK_BYTES);
    const count = readSync(file, into, done, length, position + done);
    if (count === 0) return false;
    done += count;
  }
  return true;
}

/** Writes all bytes at the file's position. */
export function writeFully(file: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length;) done += writeSync(file, bytes, done);
}

/** The system reads less than 2 GiB at once. */
const CHUNK_BYTES = 2 ** 30;

function openIfExists(path: string): number | undefined {
  try {
    // Without O_NONBLOCK, opening a pipe would wait for its other end.
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new KitError(
      "CHECKPOINT_INVALID",
      `Cannot read ${path}: ${messageOf(cause)}. Make it readable.`,
      { cause },
    );
  }
}
