import { randomBytes } from "node:crypto";
import {
  type Stats,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { KitError } from "../protocol/error.ts";

/** Opens for reading what a path itself names, and waits for nobody at the other end of a pipe. */
export const READ_ITSELF = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
/** Opens for writing over what is there. */
export const WRITE_ITSELF = constants.O_WRONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
/** What is in `.kit` is for its user to read, and the bundle too is for nobody else to write. */
const OWNER_ONLY = 0o600;
const OWNER_WRITES = 0o755;
/** Opens for appending and reading, and makes the file if there is none. */
export const APPEND_ITSELF =
  constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;

/**
 * Opens a file of `.kit`. What a symbolic link, a pipe or a device in its place leads to is no file
 * of ours.
 * @throws as `openSync`, and for what is no plain file
 */
export function openPlain(path: string, flags: number = READ_ITSELF): number {
  return openWithStats(path, flags).file;
}

/**
 * What `use` makes of a plain file of `.kit`, or `otherwise` where there is none or it throws.
 * @param use also told what the file was before anything of it is read
 */
export function usePlain<T>(
  path: string,
  otherwise: T,
  use: (file: number, before: Stats) => T,
): T {
  let file: number | undefined;
  try {
    const opened = openWithStats(path, READ_ITSELF);
    file = opened.file;
    return use(file, opened.stats);
  } catch {
    // Missing, not to be read, torn by a crash of the machine, or not ours.
    return otherwise;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function openWithStats(path: string, flags: number): { file: number; stats: Stats } {
  const file = openSync(path, flags, OWNER_ONLY);
  const stats = fstatSync(file);
  if (stats.isFile()) return { file, stats };
  closeSync(file);
  throw new KitError("NO_FILE", `${path} is no plain file. Remove it.`);
}

/** Whether there is a folder of this name; a link to one is none. */
export function isFolder(path: string): boolean {
  return statsOf(path)?.isDirectory() ?? false;
}

/** Whether there is a plain file of this name; a link to one is none. */
export function isPlainFile(path: string): boolean {
  return statsOf(path)?.isFile() ?? false;
}

/** @throws KitError `LINK_IN_KIT` when a folder in `.kit` is a link, which could lead anywhere */
export function refuseLink(path: string): void {
  if (!statsOf(path)?.isSymbolicLink()) return;
  throw new KitError(
    "LINK_IN_KIT",
    `${path} is a symbolic link, which Kit does not follow. Remove it; to keep Kit's files elsewhere, make .kit as a whole a link to a folder that exists.`,
  );
}

/** Changes with what is in a file, and with which file it is. */
export function stampOf({ ino, size, mtimeMs }: Stats): string {
  return `${ino} ${size} ${mtimeMs}`;
}

/** The stamp of what a path itself names; empty when there is nothing. */
export function stampAt(path: string): string {
  const stats = statsOf(path);
  return stats ? stampOf(stats) : "";
}

/** What a path itself names; undefined when there is nothing. */
export function statsOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    // ENOTDIR: a file stands where a folder on the way should be.
    return undefined;
  }
}

/**
 * As `mkdir -p`, for nobody else to write, whatever the umask. Node's own never returns where the
 * system answers ENOENT, as in `/proc`.
 * @throws KitError `LINK_IN_KIT`
 */
export function makeDirectory(path: string): void {
  try {
    mkdirSync(path, OWNER_WRITES);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return refuseLink(path);
    if (code !== "ENOENT" || existsSync(dirname(path))) throw error;
    makeDirectory(dirname(path));
    makeDirectory(path);
  }
}

/**
 * Writes the whole file or nothing: a reader never sees half of it.
 * @param mode who may read and write it, where the umask lets them; default: its user alone
 */
export function writeFileAtomically(path: string, content: string, mode = OWNER_ONLY): void {
  const temporary = `${path}.${randomBytes(6).toString("hex")}.tmp`;
  try {
    writeFileSync(temporary, content, { mode, flag: "wx" });
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/** A file of Kit's with more in it is none. */
const MOST_JSON_BYTES = 1024 * 1024;

/** What a file says, and its stamp from before it was read. */
export interface StampedJson {
  /** Undefined when it is longer than `most` bytes or does not parse. */
  value: unknown;
  stamp: string;
}

/** Undefined when there is no such file, or it cannot be read. */
export function readStampedJson(path: string, most = MOST_JSON_BYTES): StampedJson | undefined {
  return usePlain<StampedJson | undefined>(path, undefined, (file, stats) => {
    const text = stats.size > most ? "" : readFileSync(file, "utf8");
    return { value: parseJson(text), stamp: stampOf(stats) };
  });
}

/** The file's JSON, or undefined when it is missing, longer than `most` bytes or does not parse. */
export function readJson(path: string, most?: number): unknown {
  return readStampedJson(path, most)?.value;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Torn by a crash of the machine, or not ours.
    return undefined;
  }
}
