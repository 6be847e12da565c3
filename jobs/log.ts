import { closeSync, fstatSync, readSync, writeSync } from "node:fs";
import { APPEND_ITSELF, openPlain } from "../disk/file.ts";
import { NEWLINE } from "../disk/newline.ts";
import { KitError } from "../protocol/error.ts";
import type { JobEvent } from "../protocol/event.ts";
import { isRecord } from "../protocol/isRecord.ts";

/** A record's maximum size: one write, one read. */
export const MOST_RECORD_BYTES = 64 * 1024;
/** No version of Kit writes longer lines; they are skipped unread. */
export const LONGEST_LINE_BYTES = 4 * 1024 * 1024;

/** One event as a line of the log. */
export interface LogRecord {
  event: string;
  /** ISO 8601, UTC. */
  time: string | undefined;
  data: unknown;
}

/** A record and its place in the log, in bytes. */
export interface PlacedRecord {
  record: LogRecord;
  /** Offset of its first byte. */
  from: number;
  /** After its newline, where reading can resume. */
  offset: number;
}

export interface LogWriter {
  /**
   * On return the event is in the file. Non-finite numbers become null.
   * @throws KitError `CANNOT_WRITE` for one that is too long, when only a part of it is there, or the
   * file was deleted
   */
  append: (event: JobEvent) => void;
  /** Idempotent. */
  close: () => void;
}

/** Opens a log for its only writer. A newline ends a torn last line before the first event. */
export function openLog(path: string): LogWriter {
  const file = openPlain(path, APPEND_ITSELF);
  let isTorn = endsTorn(file);
  let isOpen = true;
  return {
    append({ event, data }) {
      const record: LogRecord = { event, time: new Date().toISOString(), data };
      // A closed descriptor's number may by now be another file's.
      if (!isOpen)
        throw new KitError(
          "LOG_CLOSED",
          `The log ${path} is closed: its job has ended. Start another.`,
        );
      if (fstatSync(file).nlink === 0) {
        // A write would still succeed, but nobody could read it.
        throw new KitError(
          "CANNOT_WRITE",
          `${path} was deleted while its job went on. Start it again.`,
        );
      }
      const line = Buffer.from(`${isTorn ? "\n" : ""}${JSON.stringify(record)}\n`);
      if (line.length > MOST_RECORD_BYTES) {
        throw new KitError(
          "CANNOT_WRITE",
          `Cannot write ${path}: a record of ${event} would take ${Math.ceil(line.length / 1024)} KiB, and takes ${MOST_RECORD_BYTES / 1024} at most. Have the engine report less.`,
        );
      }
      isTorn = writeSync(file, line) < line.length;
      if (isTorn) {
        throw new KitError(
          "CANNOT_WRITE",
          `Cannot write ${path}: the disk is full. Free disk space.`,
        );
      }
    },
    close() {
      if (isOpen) closeSync(file);
      isOpen = false;
    },
  };
}

/** Whole lines of a log. */
export interface LogLines {
  /** One buffer for all followers of a newly written part. */
  bytes: Buffer;
  /** Byte offset of the first. */
  offset: number;
}

/**
 * Cuts a log's chunks, read from a byte offset on, into whole lines. Skips a line of several chunks
 * that is longer than {@link LONGEST_LINE_BYTES}. Keeps no reference to a chunk.
 */
export function createLineCutter(from = 0): (chunk: Buffer) => LogLines | undefined {
  let offset = from;
  /** The start of a line, and how long it is. */
  let rest: Buffer[] = [];
  let length = 0;
  let isSkipping = false;

  function skip(chunk: Buffer): Buffer {
    const newline = chunk.indexOf(NEWLINE);
    const skipped = newline === -1 ? chunk.length : newline + 1;
    isSkipping = newline === -1;
    offset += skipped;
    return chunk.subarray(skipped);
  }

  return (next) => {
    const chunk = isSkipping ? skip(next) : next;
    const end = chunk.lastIndexOf(NEWLINE) + 1;
    const isWhole = end === chunk.length;
    let lines: LogLines | undefined;
    if (end > 0) {
      const whole = isWhole ? chunk : chunk.subarray(0, end);
      lines = { bytes: length > 0 ? Buffer.concat([...rest, whole]) : whole, offset };
      offset += lines.bytes.length;
      [rest, length] = [[], 0];
    }
    if (isWhole) return lines;
    rest.push(Buffer.from(chunk.subarray(end)));
    length += chunk.length - end;
    if (length > LONGEST_LINE_BYTES) {
      isSkipping = true;
      offset += length;
      [rest, length] = [[], 0];
    }
    return lines;
  };
}

/** Skips lines that are not records. */
export function recordsIn({ bytes, offset }: LogLines): PlacedRecord[] {
  const records: PlacedRecord[] = [];
  for (let start = 0, end = 0; start < bytes.length; start = end) {
    end = bytes.indexOf(NEWLINE, start) + 1;
    const record = parseRecord(bytes.toString("utf8", start, end - 1));
    if (record) records.push({ record, from: offset + start, offset: offset + end });
  }
  return records;
}

/** The records of the whole lines in bytes that were read from an offset of the log on. */
export function recordsFrom(offset: number, bytes: Buffer): PlacedRecord[] {
  const lines = createLineCutter(offset)(bytes);
  return lines ? recordsIn(lines) : [];
}

export function parseRecord(line: string): LogRecord | undefined {
  try {
    const value: unknown = JSON.parse(line);
    if (!isRecord(value)) return undefined;
    const { event, time, data } = value;
    if (typeof event !== "string") return undefined;
    return { event, time: typeof time === "string" ? time : undefined, data };
  } catch {
    // A torn or foreign line.
    return undefined;
  }
}

function endsTorn(file: number): boolean {
  const { size } = fstatSync(file);
  if (size === 0) return false;
  const last = Buffer.alloc(1);
  readSync(file, last, 0, 1, size - 1);
  return last[0] !== NEWLINE;
}
