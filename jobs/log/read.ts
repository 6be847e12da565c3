import { closeSync, readSync } from "node:fs";
import { cannotRead, openIfExists, readRegularFile, stampOf, NEWLINE } from "../../disk/file.ts";
import { logPath } from "../paths.ts";
import {
  type LogRecord,
  MAX_LINE_BYTES,
  MAX_RECORD_BYTES,
  createLineSplitter,
  parseLine,
  recordsIn,
} from "./lines.ts";

const CHUNK_BYTES = 256 * 1024;
/** Enough for the records of an evaluation before training. */
const HEAD_BYTES = 2 * MAX_RECORD_BYTES;
/** First read of a log's end, which covers most jobs' whole logs. */
const SHORT_BYTES = 16 * 1024;
/** How far from the end to search for a record. */
const TAIL_BYTES = 256 * 1024;

/**
 * A job's records, oldest first, however long its log is; a missing log has none.
 * @throws KitError `CANNOT_READ`: treating it as empty would report its events again
 */
export function* readLog(directory: string): Generator<LogRecord> {
  const path = logPath(directory);
  const file = openIfExists(path);
  if (file === undefined) return;
  try {
    yield* recordsOf((chunk) => {
      try {
        return readSync(file, chunk);
      } catch (cause) {
        throw cannotRead(path, cause);
      }
    });
  } finally {
    closeSync(file);
  }
}

/** The first record of an event in the log's first 128 KiB; undefined also for an unreadable log. */
export function findFirst(path: string, event: string): LogRecord | undefined {
  return readRegularFile<LogRecord | undefined>(path, undefined, (file) => {
    let remaining = HEAD_BYTES;
    const records = recordsOf((chunk) => {
      const length = readSync(file, chunk, 0, Math.min(remaining, chunk.length), null);
      remaining -= length;
      return length;
    });
    for (const record of records) if (record.event === event) return record;
    return undefined;
  });
}

/** @param read fills a chunk; returns 0 at the end */
function* recordsOf(read: (chunk: Buffer) => number): Generator<LogRecord> {
  const splitLines = createLineSplitter();
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  for (let length; (length = read(chunk)) > 0;) {
    const lines = splitLines(chunk.subarray(0, length));
    if (lines) for (const { record } of recordsIn(lines)) yield record;
  }
}

/** The result of a search from a log's end. */
export interface Newest<T> {
  found?: T | undefined;
  hasRecords: boolean;
  /** The log's stamp from before it was read. */
  stamp: string;
}

/**
 * The first result of `find`, from the newest record backwards. Reads only the last 256 KiB of a long log.
 * @returns undefined when the log is missing or unreadable, which must not hide other jobs
 */
export function findNewest<T>(
  path: string,
  find: (record: LogRecord) => T | undefined,
): Newest<T> | undefined {
  return readRegularFile<Newest<T> | undefined>(path, undefined, (file, before) => {
    const { size } = before;
    const stamp = stampOf(before);
    let hasRecords = false;
    for (let length = SHORT_BYTES, end = size; ; length *= 4) {
      const from = Math.max(0, size - length);
      const bytes = Buffer.allocUnsafe(end - from);
      const read = bytes.subarray(0, readSync(file, bytes, 0, bytes.length, from));
      // The first line may be partial.
      const start = from > 0 ? read.indexOf(NEWLINE) + 1 : 0;
      for (const record of newestFirst(read.subarray(start))) {
        hasRecords = true;
        const found = find(record);
        if (found !== undefined) return { found, hasRecords, stamp };
      }
      // One long line can fill the tail.
      const isEnough = (hasRecords && length >= TAIL_BYTES) || length > MAX_LINE_BYTES;
      if (from === 0 || isEnough) return { hasRecords, stamp };
      if (start > 0) end = from + start;
    }
  });
}

function* newestFirst(bytes: Buffer): Generator<LogRecord> {
  for (let end = bytes.lastIndexOf(NEWLINE); end >= 0;) {
    const start = bytes.subarray(0, end).lastIndexOf(NEWLINE) + 1;
    const record = parseLine(bytes.toString("utf8", start, end));
    if (record) yield record;
    end = start - 1;
  }
}

/** Whether reading can resume at this offset: at the start, or after a newline of the log. */
export function isRecordBoundary(path: string, offset: number): boolean {
  if (offset === 0) return true;
  return readRegularFile(path, false, (file) => {
    const byte = Buffer.alloc(1);
    return readSync(file, byte, 0, 1, offset - 1) === 1 && byte[0] === NEWLINE;
  });
}
