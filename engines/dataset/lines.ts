import { closeSync, constants as fsConstants, fstatSync, openSync, readSync } from "node:fs";
import { NEWLINE } from "../../disk/newline.ts";
import { KitError } from "../../protocol/error.ts";
import constants from "../python/kit_engine/constants.json" with { type: "json" };

const MEBIBYTE = 2 ** 20;
const CHUNK_BYTES = MEBIBYTE;
/** A longer line is refused: while it is parsed it takes several times its size. */
const LONGEST_LINE_BYTES = constants.longestLineMiB * MEBIBYTE;

/** Called after each read of a file, with how much has been read and its size. */
export type OnRead = (bytes: number, fileBytes: number) => void;

/**
 * Parses the lines of a text file, trimmed, one at a time; skips blank ones.
 * @throws KitError `DATASET_UNREADABLE` without a file, `DATASET_INVALID` with file and line
 */
export function* readLines<T>(
  path: string,
  parse: (line: string, where: string) => T,
  onRead?: OnRead,
): Generator<T> {
  const file = openDataFile(path);
  try {
    const { size } = fstatSync(file);
    let buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    /** The part of the buffer that is not yet a line: from `start` to `end`. */
    let start = 0;
    let end = 0;
    let read = 0;
    for (let number = 1, isOver = false; !isOver || start < end;) {
      const where = `${path}:${number}`;
      const newline = buffer.indexOf(NEWLINE, start);
      // Bytes past `end` are left over from earlier reads.
      const isWhole = newline !== -1 && newline < end;
      if (!isWhole && !isOver) {
        const rest = end - start;
        refuseLongRow(rest, where);
        // Doubles for a long line, and shrinks after it.
        const length = Math.max(CHUNK_BYTES, Math.min(2 * rest, LONGEST_LINE_BYTES + CHUNK_BYTES));
        buffer = moved(buffer, start, end, length);
        const count = readable(path, () => readSync(file, buffer, rest, length - rest, null));
        [start, end] = [0, rest + count];
        read += count;
        isOver = count === 0;
        if (!isOver) onRead?.(read, size);
        continue;
      }
      const lineEnd = isWhole ? newline : end;
      const text = decode(buffer.subarray(start, lineEnd), where);
      start = Math.min(end, lineEnd + 1);
      number++;
      if (text === "") continue;
      if (buffer.length > CHUNK_BYTES && end - start < CHUNK_BYTES) {
        buffer = moved(buffer, start, end, CHUNK_BYTES);
        [start, end] = [0, end - start];
      }
      yield parse(text, where);
    }
  } finally {
    closeSync(file);
  }
}

/** @throws KitError `DATASET_INVALID` */
export function refuseLongRow(bytes: number, where: string): void {
  if (bytes <= LONGEST_LINE_BYTES) return;
  throw new KitError(
    "DATASET_INVALID",
    `${where}: the row has more than ${constants.longestLineMiB} MiB. Split it into several rows.`,
  );
}

/** Moves a part to the start of a buffer of the given length. Reuses the buffer if it has that length. */
function moved(
  buffer: Buffer<ArrayBuffer>,
  start: number,
  end: number,
  length: number,
): Buffer<ArrayBuffer> {
  const target = buffer.length === length ? buffer : Buffer.allocUnsafe(length);
  buffer.copy(target, 0, start, end);
  return target;
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decode(bytes: Buffer, where: string): string {
  try {
    // Trims a byte order mark, too.
    return decoder.decode(bytes).trim();
  } catch (cause) {
    throw new KitError("DATASET_INVALID", `${where}: not UTF-8. Save the file as UTF-8.`, {
      cause,
    });
  }
}

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
  return new KitError(
    "DATASET_UNREADABLE",
    `Cannot read the dataset ${path}: ${why}. Check its path, which is relative to the project.`,
    { cause },
  );
}
