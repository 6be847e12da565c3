import { isUtf8 } from "node:buffer";
import { NEWLINE } from "../../../disk/file.ts";
import type { KitError } from "../../../protocol/error.ts";
import { openText } from "../textFile.ts";
import { invalid } from "./tableRow.ts";

/** Maximum bytes of a UTF-8 character. */
const MAX_CHARACTER_BYTES = 4;
const CHUNK_BYTES = 2 ** 16;

/**
 * Reads a text file in chunks that never split a character.
 * @throws KitError `DATASET_UNREADABLE` without a file, `DATASET_INVALID` with the line that is not UTF-8
 */
export function* readUtf8(path: string): Generator<Buffer, undefined> {
  const { read, close } = openText(path);
  try {
    let line = 1;
    /** Bytes of a character that the previous chunk has only in part. */
    let carried = 0;
    for (let chunk = Buffer.allocUnsafe(CHUNK_BYTES); ;) {
      const count = read(chunk, carried, CHUNK_BYTES);
      if (count === 0) break;
      const bytes = chunk.subarray(0, carried + count);
      const end = wholeCharacters(bytes);
      const whole = bytes.subarray(0, end);
      if (!isUtf8(whole)) throw notUtf8(path, line + linesBefore(whole));
      line += newlinesIn(whole);
      // The caller may keep the chunk.
      chunk = Buffer.allocUnsafe(CHUNK_BYTES);
      carried = bytes.copy(chunk, 0, end);
      yield whole;
    }
    if (carried > 0) throw notUtf8(path, line);
  } finally {
    close();
  }
}

/** Number of bytes that are whole characters; the last character may continue in the next chunk. */
function wholeCharacters(bytes: Buffer): number {
  for (let back = 1; back < MAX_CHARACTER_BYTES && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    const isContinuation = byte >= 0x80 && byte < 0xc0;
    if (isContinuation) continue;
    const length = byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    return length > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

/** Number of lines before the first that isn't UTF-8. */
function linesBefore(bytes: Buffer): number {
  let lines = 0;
  for (let start = 0; ; lines++) {
    const newline = bytes.indexOf(NEWLINE, start);
    if (newline === -1 || !isUtf8(bytes.subarray(start, newline))) return lines;
    start = newline + 1;
  }
}

export function newlinesIn(text: Buffer | string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) count++;
  return count;
}

function notUtf8(path: string, line: number): KitError {
  return invalid(`${path}:${line}`, "not UTF-8. Save the file as UTF-8.");
}
