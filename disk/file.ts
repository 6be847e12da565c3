import { randomBytes } from "node:crypto";
import {
  type Stats,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { KitError, messageOf } from "../protocol/error.ts";
import { move, remove, whileBusy } from "./move.ts";

/** Permissions before the umask. Others may read some files, such as the bundle, but never write them. */
export const OWNER_ONLY = 0o600;
export const OWNER_ONLY_FOLDER = 0o700;
export const OTHERS_READ = 0o644;
export const OTHERS_READ_FOLDER = 0o755;

export const NEWLINE = 0x0a;

/** Flags for reading. Follows no link, and doesn't block on a pipe. */
export const READ_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
export const WRITE_FLAGS = constants.O_WRONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const OTHERS_WRITE = 0o022;
/** Flags for appending and reading; creates a missing file. */
export const APPEND_FLAGS =
  constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;

/**
 * Opens a file of `.kit`. Refuses a symbolic link, a pipe or a device, which could lead anywhere.
 * @throws KitError `NO_FILE` unless it is a regular file, and the errors of `openSync`
 */
export function openRegular(path: string, flags: number = READ_FLAGS): number {
  return openWithStats(path, flags).file;
}

/** Error codes for a missing file, or for something that isn't a regular file. */
const MISSING_CODES = new Set(["ENOENT", "ENOTDIR", "ELOOP", "NO_FILE"]);

/** Whether {@link openRegular} failed because the file is missing, rather than unreadable. */
export function isMissing(error: unknown): boolean {
  return MISSING_CODES.has(String((error as NodeJS.ErrnoException).code));
}

/**
 * Like {@link openRegular}; undefined without a regular file.
 * @throws KitError `CANNOT_READ` for an existing file, as with too many open files
 */
export function openIfExists(path: string): number | undefined {
  try {
    return openRegular(path);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw cannotRead(path, error);
  }
}

export function cannotRead(path: string, cause: unknown): KitError {
  const message = `Cannot read ${path}: ${messageOf(cause)}. Make it readable.`;
  return new KitError("CANNOT_READ", message, { cause });
}

/**
 * Calls `use` with a regular file of `.kit`; returns `fallback` if there is none or `use` throws. For
 * optional files.
 * @param use also gets the file's stats from before it is read
 */
export function readRegularFile<T>(
  path: string,
  fallback: T,
  use: (file: number, before: Stats) => T,
): T {
  let file: number | undefined;
  try {
    const opened = openWithStats(path, READ_FLAGS);
    file = opened.file;
    return use(file, opened.stats);
  } catch {
    // Missing, unreadable, half written in a crash of the machine, or not Kit's.
    return fallback;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function openWithStats(path: string, flags: number): { file: number; stats: Stats } {
  if (isFollowedLink(path)) throw notRegular(path);
  const file = whileBusy(() => openSync(path, flags, OWNER_ONLY));
  const stats = fstatSync(file);
  if (stats.isFile()) return { file, stats };
  closeSync(file);
  throw notRegular(path);
}

function notRegular(path: string): KitError {
  return new KitError("NO_FILE", `${path} is not a regular file. Remove it.`);
}

/** Whether opening a path would follow a link: Windows has no `O_NOFOLLOW`. */
export function isFollowedLink(path: string): boolean {
  return process.platform === "win32" && statsOf(path)?.isSymbolicLink() === true;
}

/** Whether a path is a folder, not a link to one. */
export function isFolder(path: string): boolean {
  return statsOf(path)?.isDirectory() ?? false;
}

/** Whether a path is a regular file, not a link to one. */
export function isRegularFile(path: string): boolean {
  return statsOf(path)?.isFile() ?? false;
}

/** @throws KitError `LINK_IN_KIT` when a file or folder in `.kit` is a link, which could lead anywhere */
export function refuseLink(path: string): void {
  if (!statsOf(path)?.isSymbolicLink()) return;
  throw new KitError(
    "LINK_IN_KIT",
    `${path} is a symbolic link, which Kit does not follow. Remove it; to keep Kit's files elsewhere, make .kit as a whole a link to a folder that exists.`,
  );
}

/** A text that changes when a file is written or replaced. */
export function stampOf({ ino, size, mtimeMs }: Stats): string {
  return `${ino} ${size} ${mtimeMs}`;
}

/** The stamp of the file, folder or link at a path; empty when there is nothing. */
export function stampAt(path: string): string {
  const stats = statsOf(path);
  return stats ? stampOf(stats) : "";
}

/** The stats of the file, folder or link at a path; undefined when there is nothing. */
export function statsOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    // ENOTDIR: a file where a parent folder should be.
    return undefined;
  }
}

/**
 * Like `mkdir -p`, with folders that only their owner can write. Node's recursive `mkdir` never returns
 * where the system answers ENOENT, as in `/proc`.
 * @throws KitError `LINK_IN_KIT`
 */
export function makeDirectory(path: string): void {
  try {
    mkdirSync(path, OTHERS_READ_FOLDER);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") {
      refuseLink(path);
      if (isFolder(path)) return;
    }
    const parent = dirname(path);
    // A drive that doesn't exist is its own parent.
    if (code !== "ENOENT" || parent === path || existsSync(parent)) throw error;
    makeDirectory(parent);
    makeDirectory(path);
  }
}

interface WriteOptions {
  /** Permissions before the umask. Default: owner only. */
  mode?: number;
  /** Whether to flush the content before the rename. Default false. */
  flush?: boolean;
}

/** Writes a file by rename, so that readers never see half of it. */
export function writeFileAtomically(
  path: string,
  content: string,
  { mode = OWNER_ONLY, flush = false }: WriteOptions = {},
): void {
  const temporary = `${path}.${randomBytes(6).toString("hex")}.tmp`;
  try {
    writeFileSync(temporary, content, { mode, flag: "wx", flush });
    move(temporary, path);
  } catch (error) {
    remove(temporary);
    throw error;
  }
}

/** Fixes the permissions of files that an older Kit created under a loose umask. */
export function denyOthersWrite(path: string): void {
  try {
    const { mode } = statSync(path);
    if (mode & OTHERS_WRITE) chmodSync(path, mode & ~OTHERS_WRITE);
  } catch {
    // Another user's, or a disk without permissions.
  }
}

export function syncFile(path: string): void {
  // Windows flushes only a file that is open for writing.
  const flags = process.platform === "win32" ? constants.O_RDWR : constants.O_RDONLY;
  const file = whileBusy(() => openSync(path, flags | constants.O_NOFOLLOW));
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Flushes a folder's entries to the disk. */
export function syncFolder(path: string): void {
  // Windows can't flush folders.
  if (process.platform !== "win32") syncFile(path);
}
