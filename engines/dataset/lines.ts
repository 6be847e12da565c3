import { NEWLINE } from "../../disk/file.ts";
import { KitError } from "../../protocol/error.ts";
import constants from "../constants.json" with { type: "json" };
import { openText } from "./textFile.ts";

const CARRIAGE_RETURN = 0x0d;
const MEBIBYTE = 2 ** 20;
const CHUNK_BYTES = MEBIBYTE;
/** Parsing a line takes several times its size. */
const MAX_LINE_BYTES = constants.maxLineMiB * MEBIBYTE;

/** Called after each read of a file, with the bytes read so far and the file's size. */
export type OnRead = (bytes: number, fileBytes: number) => void;

/**
 * Parses the lines of a text file one at a time, without trailing spaces; skips blank ones.
 * @throws KitError `DATASET_UNREADABLE` without a file, `DATASET_INVALID` with file and line
 */
export function* readLines<T>(
  path: string,
  parse: (line: string, where: string) => T,
  onRead?: OnRead,
): Generator<T> {
  const { size, read: readText, close } = openText(path);
  try {
    let buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    /** Unconsumed bytes of the buffer: from `start` to `end`. */
    let start = 0;
    let end = 0;
    let bytesRead = 0;
    let lineBreak = NEWLINE;
    for (let number = 1, isAtEnd = false; !isAtEnd || start < end;) {
      const where = `${path}:${number}`;
      const newline = buffer.indexOf(lineBreak, start);
      // Bytes past `end` are stale.
      const isWhole = newline !== -1 && newline < end;
      if (!isWhole && !isAtEnd) {
        const remaining = end - start;
        refuseLongRow(remaining, where);
        // Doubles for a long line, and shrinks after it.
        const length = Math.max(CHUNK_BYTES, Math.min(2 * remaining, MAX_LINE_BYTES + CHUNK_BYTES));
        buffer = moveToStart(buffer, start, end, length);
        const count = readText(buffer, remaining, length);
        [start, end] = [0, remaining + count];
        if (bytesRead === 0) lineBreak = lineBreakOf(buffer.subarray(0, count));
        bytesRead += count;
        isAtEnd = count === 0;
        if (!isAtEnd) onRead?.(bytesRead, size);
        continue;
      }
      const lineEnd = isWhole ? newline : end;
      const text = decode(buffer.subarray(start, lineEnd), where);
      start = Math.min(end, lineEnd + 1);
      number++;
      if (text === "") continue;
      if (buffer.length > CHUNK_BYTES && end - start < CHUNK_BYTES) {
        buffer = moveToStart(buffer, start, end, CHUNK_BYTES);
        [start, end] = [0, end - start];
      }
      yield parse(text, where);
    }
  } finally {
    close();
  }
}

/** @throws KitError `DATASET_INVALID` */
export function refuseLongRow(bytes: number, where: string): void {
  if (bytes <= MAX_LINE_BYTES) return;
  throw new KitError(
    "DATASET_INVALID",
    `${where}: the row has more than ${constants.maxLineMiB} MiB. Split it into several rows.`,
  );
}

/** Moves bytes to the start of a buffer of the given length; reuses the buffer if it has that length. */
function moveToStart(
  buffer: Buffer<ArrayBuffer>,
  start: number,
  end: number,
  length: number,
): Buffer<ArrayBuffer> {
  const target = buffer.length === length ? buffer : Buffer.allocUnsafe(length);
  buffer.copy(target, 0, start, end);
  return target;
}

/** Detects the line break from a file's first bytes. Some spreadsheets still write a lone CR. */
function lineBreakOf(bytes: Buffer): number {
  const index = bytes.indexOf(CARRIAGE_RETURN);
  const isInside = index !== -1 && index < bytes.length - 1;
  return isInside && !bytes.includes(NEWLINE) ? CARRIAGE_RETURN : NEWLINE;
}

const decoder = new TextDecoder("utf-8", { fatal: true });

function decode(bytes: Buffer, where: string): string {
  try {
    // Also drops byte order marks inside concatenated files.
    return decoder.decode(bytes).trimEnd();
  } catch (cause) {
    throw new KitError("DATASET_INVALID", `${where}: not UTF-8. Save the file as UTF-8.`, {
      cause,
    });
  }
}
