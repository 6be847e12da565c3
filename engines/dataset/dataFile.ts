import { closeSync, constants as fsConstants, fstatSync, openSync } from "node:fs";
import { KitError } from "../../protocol/error.ts";
import { adviceForFolder, adviceForMissing } from "./dataFolder.ts";

/**
 * Doesn't wait for a writer at the other end of a pipe. A folder opens, too: reading it fails.
 * @throws KitError `DATASET_UNREADABLE`
 */
export function openDataFile(path: string): number {
  return readable(path, () => openPlainFile(path));
}

function openPlainFile(path: string): number {
  const file = openSync(path, fsConstants.O_RDONLY | fsConstants.O_NONBLOCK);
  const stats = fstatSync(file);
  if (stats.isFile() || stats.isDirectory()) return file;
  closeSync(file);
  throw new Error("it is not a plain file");
}

const PROBLEMS: Record<string, string> = {
  ENOENT: "there is no such file",
  EISDIR: "it is a folder, not a file",
};

/** @throws KitError `DATASET_UNREADABLE` when the reading fails */
export function readable<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

/** @param cause what opening or reading the file has thrown */
export function unreadable(path: string, cause: unknown): KitError {
  const { code, message } = cause as NodeJS.ErrnoException;
  const why = PROBLEMS[code ?? ""] ?? message;
  const advice =
    (code === "EISDIR" ? adviceForFolder(path) : undefined) ??
    (code === "ENOENT" ? adviceForMissing(path) : undefined) ??
    "Check its path, which is relative to the project.";
  const problem = `Cannot read the dataset ${path}: ${why}. ${advice}`;
  return new KitError("DATASET_UNREADABLE", problem, { cause });
}
