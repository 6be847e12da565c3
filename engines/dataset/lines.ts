import { NEWLINE } from "../../disk/file.ts";
import { KitError } from "../../protocol/error.ts";
import constants from "../constants.json" with { type: "json" };
import { openText } from "./textFile.ts";

const CARRIAGE_RETURN = 0x0d;
const MEBIBYTE = 2 ** 20;
const CHUNK_BYTES = MEBIBYTE;
/** A longer line is refused: while it is parsed it takes several times its size. */
const LONGEST_LINE_BYTES = constants.longestLineMiB * MEBIBYTE;

/** Called after each read of a file, with how much has been read and its size. */
export type OnRead = (bytes: number, fileBytes: number) => void;

/**
 * Parses the lines of a text file one at a time, without the spaces at their ends; skips blank ones.
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
    /** The part of the buffer that is not yet a line: from `start` to `end`. */
    let start = 0;
    let end = 0;
    let read = 0;
    let lineBreak = NEWLINE;
    for (let number = 1, isOver = false; !isOver || start < end;) {
      const where = `${path}:${number}`;
      const newline = buffer.indexOf(lineBreak, start);
      // Bytes past `end` are left over from earlier reads.
      const isWhole = newline !== -1 && newline < end;
      if (!isWhole && !isOver) {
        const rest = end - start;
        refuseLongRow(rest, where);
        // Doubles for a long line, and shrinks after it.
        const length = Math.max(CHUNK_BYTES, Math.min(2 * rest, LONGEST_LINE_BYTES + CHUNK_BYTES));
        buffer = moved(buffer, start, end, length);
        const count = readText(buffer, rest, length);
        [start, end] = [0, rest + count];
        if (read === 0) lineBreak = lineBreakOf(buffer.subarray(0, count));
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
    close();
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

/** By a file's first bytes. Some spreadsheets still end lines as the first Macs did. */
function lineBreakOf(bytes: Buffer): number {
  const at = bytes.indexOf(CARRIAGE_RETURN);
  const isInside = at !== -1 && at < bytes.length - 1;
  return isInside && !bytes.includes(NEWLINE) ? CARRIAGE_RETURN : NEWLINE;
}

const decoder = new TextDecoder("utf-8", { fatal: true });

function decode(bytes: Buffer, where: string): string {
  try {
    // Files that were joined have a byte order mark inside, which this leaves out.
    return decoder.decode(bytes).trimEnd();
  } catch (cause) {
    throw new KitError("DATASET_INVALID", `${where}: not UTF-8. Save the file as UTF-8.`, {
      cause,
    });
  }
}
