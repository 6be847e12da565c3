import { isUtf8 } from "node:buffer";
import { createReadStream } from "node:fs";
import { NEWLINE } from "../../../disk/newline.ts";
import type { KitError } from "../../../protocol/error.ts";
import { openDataFile, unreadable } from "../lines.ts";
import { invalid } from "./tableRow.ts";

/** A character of UTF-8 has at most so many bytes. */
const LONGEST_CHARACTER = 4;

/**
 * Reads a text file in parts, none of which ends within a character.
 * @throws KitError `DATASET_UNREADABLE` without a file, `DATASET_INVALID` with the line that is not UTF-8
 */
export async function* readUtf8(path: string): AsyncGenerator<Buffer, undefined> {
  let line = 1;
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of readChunks(path)) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const end = wholeCharacters(bytes);
    const whole = bytes.subarray(0, end);
    if (!isUtf8(whole)) throw notUtf8(path, line + linesBefore(whole));
    rest = bytes.subarray(end);
    line += newlinesIn(whole);
    yield whole;
  }
  if (rest.length > 0) throw notUtf8(path, line);
}

async function* readChunks(path: string): AsyncGenerator<Buffer> {
  const stream = createReadStream(path, { fd: openDataFile(path) });
  try {
    for await (const chunk of stream) yield chunk as Buffer;
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

/** How many bytes are whole characters; the last one may go on in the next part. */
function wholeCharacters(bytes: Buffer): number {
  for (let back = 1; back < LONGEST_CHARACTER && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    const isContinuation = byte >= 0x80 && byte < 0xc0;
    if (isContinuation) continue;
    const length = byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    return length > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

/** How many lines there are before the first one that is not UTF-8. */
function linesBefore(bytes: Buffer): number {
  let lines = 0;
  for (let start = 0; ; lines++) {
    const newline = bytes.indexOf(NEWLINE, start);
    if (newline === -1 || !isUtf8(bytes.subarray(start, newline))) return lines;
    start = newline + 1;
  }
}

function newlinesIn(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) count++;
  return count;
}

function notUtf8(path: string, line: number): KitError {
  return invalid(`${path}:${line}`, "not UTF-8. Save the file as UTF-8.");
}
