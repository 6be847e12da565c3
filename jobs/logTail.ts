import { fstatSync, readSync } from "node:fs";
import { stampOf, readRegularFile } from "../disk/file.ts";
import { NEWLINE } from "../disk/newline.ts";
import { type LogRecord, LONGEST_LINE_BYTES, parseRecord, recordsFrom } from "./log.ts";

/** The first search for the event that ended the job reads this much of the log's end. */
const TAIL_BYTES = 256 * 1024;
/** The whole log of most jobs. */
const SHORT_BYTES = 16 * 1024;

const short = Buffer.allocUnsafe(SHORT_BYTES);

/** The complete records at the end of a log, oldest first; all of them if the log is short. */
export function readLogTail(path: string): LogRecord[] {
  // A missing or unreadable log must not hide the other jobs.
  return tryLogTail(path) ?? [];
}

/** As {@link readLogTail}; undefined when the log is missing or unreadable. */
export function tryLogTail(path: string): LogRecord[] | undefined {
  return readRegularFile<LogRecord[] | undefined>(path, undefined, (file, { size }) => {
    for (let length = TAIL_BYTES; ; length *= 4) {
      const from = Math.max(0, size - length);
      const records = readRecords(file, from, size);
      // One long line can fill the tail.
      if (records.length > 0 || from === 0 || length > LONGEST_LINE_BYTES) return records;
    }
  });
}

function readRecords(file: number, from: number, to: number): LogRecord[] {
  const bytes = Buffer.alloc(to - from);
  const read = readSync(file, bytes, 0, bytes.length, from);
  // The first line may have begun before.
  const start = from > 0 ? bytes.indexOf(NEWLINE) + 1 : 0;
  return recordsFrom(from + start, bytes.subarray(start, read)).map(({ record }) => record);
}

/** The last record of a log, and the log's stamp from before it was read. */
export interface LastRecord {
  record: LogRecord;
  stamp: string;
}

/** The last complete line of a log as a record, with the fewest system calls. */
export function readLastRecord(path: string): LastRecord | undefined {
  return readRegularFile<LastRecord | undefined>(path, undefined, (file, before) => {
    let from = 0;
    let length = readSync(file, short, 0, SHORT_BYTES, from);
    if (length === SHORT_BYTES) {
      from = Math.max(0, fstatSync(file).size - SHORT_BYTES);
      length = readSync(file, short, 0, SHORT_BYTES, from);
    }
    const end = short.subarray(0, length).lastIndexOf(NEWLINE);
    if (end < 0) return undefined;
    const start = short.subarray(0, end).lastIndexOf(NEWLINE) + 1;
    // The line may have begun before the bytes that were read.
    if (start === 0 && from > 0) return undefined;
    const record = parseRecord(short.toString("utf8", start, end));
    return record && { record, stamp: stampOf(before) };
  });
}

/** Whether reading can resume at this offset: at the start, or after a newline of the log. */
export function isRecordBoundary(path: string, offset: number): boolean {
  if (offset === 0) return true;
  return readRegularFile(path, false, (file) => {
    const byte = Buffer.alloc(1);
    return readSync(file, byte, 0, 1, offset - 1) === 1 && byte[0] === NEWLINE;
  });
}
