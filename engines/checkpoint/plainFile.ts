import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { messageOf } from "../../protocol/error.ts";
import { EngineError } from "../error.ts";

/** A file that is open for as long as it is used. */
export interface OpenFile {
  file: number;
  size: number;
}

/**
 * What `use` makes of a file. A link is followed: model hubs keep their files behind links.
 * @throws EngineError `CHECKPOINT_INVALID` when it is missing, unreadable or no plain file
 */
export function usePlain<T>(path: string, use: (file: OpenFile) => T): T {
  const found = usePlainIfThere(path, use);
  if (found !== null) return found;
  throw new EngineError(
    "CHECKPOINT_INVALID",
    `There is no ${path}: use the directory of a checkpoint that Kit saved.`,
  );
}

/** As {@link usePlain}, or null where there is no file. */
export function usePlainIfThere<T>(path: string, use: (file: OpenFile) => T): T | null {
  const file = openIfThere(path);
  if (file === null) return null;
  try {
    const stats = fstatSync(file);
    if (stats.isFile()) return use({ file, size: stats.size });
  } finally {
    closeSync(file);
  }
  throw new EngineError(
    "CHECKPOINT_INVALID",
    `${path} is no plain file: use the directory of a checkpoint that Kit saved.`,
  );
}

/** Fills a buffer from a position on. Returns whether the file had enough. */
export function readWhole(file: number, into: Uint8Array, position: number): boolean {
  for (let done = 0; done < into.length;) {
    const most = Math.min(into.length - done, CHUNK_BYTES);
    const count = readSync(file, into, done, most, position + done);
    if (count === 0) return false;
    done += count;
  }
  return true;
}

/** The system reads less than 2 GiB at once. */
const CHUNK_BYTES = 2 ** 30;

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function openIfThere(path: string): number | null {
  try {
    // Waits for nobody at the other end of a pipe.
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw new EngineError(
      "CHECKPOINT_INVALID",
      `Cannot read ${path}: ${messageOf(cause)}. Make it readable.`,
      { cause },
    );
  }
}
