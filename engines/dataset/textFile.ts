import { closeSync, fstatSync, readSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { messageOf } from "../../protocol/error.ts";
import { openDataFile, withReadError } from "./dataFile.ts";
import { HEAD_BYTES, refuseOtherKinds } from "./fileKind.ts";
import { invalid } from "./tables/tableRow.ts";

const MEBIBYTE = 2 ** 20;
/** Maximum size of unpacked gzip, which is held in memory. */
const MAX_UNPACKED_MIB = 1024;

/** Reads bytes into a range of a buffer. @returns their number, 0 at the end of the file */
export type Read = (target: Buffer, start: number, end: number) => number;

/** A file's text as UTF-8. */
export interface TextFile {
  size: number;
  read: Read;
  close: () => void;
}

/**
 * Opens a text file: UTF-8 or UTF-16, possibly gzipped. Drops a byte order mark.
 * @throws KitError `DATASET_UNREADABLE`, `DATASET_INVALID` for a file of another kind
 */
export function openText(path: string): TextFile {
  const file = openDataFile(path);
  const close = () => closeSync(file);
  try {
    const readFile: Read = (target, start, end) =>
      withReadError(path, () => readSync(file, target, start, end - start, null));
    return { size: fstatSync(file).size, read: textOf(path, readFile), close };
  } catch (error) {
    close();
    throw error;
  }
}

/** Reads all remaining bytes. */
export function readAll(read: Read): Buffer {
  const chunks: Buffer[] = [];
  for (;;) {
    const chunk = Buffer.allocUnsafe(MEBIBYTE);
    const count = read(chunk, 0, chunk.length);
    if (count === 0) return Buffer.concat(chunks);
    chunks.push(chunk.subarray(0, count));
  }
}

function textOf(path: string, read: Read): Read {
  const head = Buffer.alloc(HEAD_BYTES);
  let length = 0;
  for (let count = -1; count !== 0 && length < HEAD_BYTES; length += count) {
    count = read(head, length, HEAD_BYTES);
  }
  const start = head.subarray(0, length);
  const unconsumed = concatenate(readerOf(start), read);
  if (start.toString("latin1", 0, 2) === "\x1f\x8b") {
    return textOf(path, readerOf(unpack(path, readAll(unconsumed))));
  }
  refuseOtherKinds(path, start);
  const [encoding, mark] = encodingOf(start);
  const rest = concatenate(readerOf(start.subarray(mark)), read);
  return encoding === "utf-8" ? rest : transcode(path, rest, encoding);
}

function unpack(path: string, bytes: Buffer): Buffer {
  try {
    return gunzipSync(bytes, { maxOutputLength: MAX_UNPACKED_MIB * MEBIBYTE });
  } catch (cause) {
    const isLarge = cause instanceof RangeError;
    throw invalid(
      path,
      isLarge
        ? `more than ${MAX_UNPACKED_MIB} MiB once unpacked. Unpack it with gunzip.`
        : `damaged gzip (${messageOf(cause)}). Save it again.`,
      cause,
    );
  }
}

type Encoding = "utf-8" | "utf-16le" | "utf-16be";

/** Detects the encoding and the length of its byte order mark. Text without one begins with ASCII. */
function encodingOf([first, second, third]: Buffer): [Encoding, mark: number] {
  if (first === 0xff && second === 0xfe) return ["utf-16le", 2];
  if (first === 0xfe && second === 0xff) return ["utf-16be", 2];
  if (first === 0xef && second === 0xbb && third === 0xbf) return ["utf-8", 3];
  if (first !== 0 && second === 0) return ["utf-16le", 0];
  return [first === 0 && second !== 0 && second !== undefined ? "utf-16be" : "utf-8", 0];
}

function transcode(path: string, read: Read, encoding: Encoding): Read {
  const decoder = new TextDecoder(encoding, { fatal: true, ignoreBOM: true });
  const chunk = Buffer.allocUnsafe(MEBIBYTE);
  let decoded = readerOf(Buffer.alloc(0));
  let isAtEnd = false;
  return (target, start, end) => {
    for (;;) {
      const count = decoded(target, start, end);
      if (count > 0 || isAtEnd) return count;
      const bytes = chunk.subarray(0, read(chunk, 0, chunk.length));
      isAtEnd = bytes.length === 0;
      try {
        decoded = readerOf(Buffer.from(decoder.decode(bytes, { stream: !isAtEnd })));
      } catch (cause) {
        throw invalid(path, "damaged UTF-16. Save the file as UTF-8.", cause);
      }
    }
  };
}

function readerOf(bytes: Buffer): Read {
  let offset = 0;
  return (target, start, end) => {
    const count = bytes.copy(target, start, offset, offset + end - start);
    offset += count;
    return count;
  };
}

function concatenate(first: Read, second: Read): Read {
  return (target, start, end) => {
    const count = first(target, start, end);
    return start + count < end ? count + second(target, start + count, end) : count;
  };
}
