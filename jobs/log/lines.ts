import { NEWLINE } from "../../disk/file.ts";
import { parseRecord } from "../../protocol/isRecord.ts";

/** Maximum size of a record, so that it takes one write and one read. */
export const MAX_RECORD_BYTES = 64 * 1024;
/** Longer lines are skipped unread; no version of Kit writes them. */
export const MAX_LINE_BYTES = 4 * 1024 * 1024;

/** An event as a line of the log. */
export interface LogRecord {
  event: string;
  /** ISO 8601, UTC. */
  time: string | undefined;
  data: unknown;
}

/** A record and its byte range in the log. */
export interface LocatedRecord {
  record: LogRecord;
  /** Offset of its first byte. */
  start: number;
  /** Offset after its newline, where reading can resume. */
  end: number;
}

/** Whole lines of a log. */
export interface LogLines {
  /** One buffer shared by all followers. */
  bytes: Buffer;
  /** Byte offset of the first. */
  offset: number;
}

/**
 * Splits a log's chunks, from a byte offset on, into whole lines. Skips a line of several chunks that is
 * longer than {@link MAX_LINE_BYTES}. Keeps no reference to a chunk.
 */
export function createLineSplitter(from = 0): (chunk: Buffer) => LogLines | undefined {
  let offset = from;
  /** The start of an unfinished line, and its length. */
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
    const endsWithLine = end === chunk.length;
    let lines: LogLines | undefined;
    if (end > 0) {
      const wholeLines = endsWithLine ? chunk : chunk.subarray(0, end);
      lines = { bytes: length > 0 ? Buffer.concat([...rest, wholeLines]) : wholeLines, offset };
      offset += lines.bytes.length;
      [rest, length] = [[], 0];
    }
    if (endsWithLine) return lines;
    rest.push(Buffer.from(chunk.subarray(end)));
    length += chunk.length - end;
    if (length > MAX_LINE_BYTES) {
      isSkipping = true;
      offset += length;
      [rest, length] = [[], 0];
    }
    return lines;
  };
}

/** Skips lines that are not records, and an unfinished last one. */
export function* recordsIn({ bytes, offset }: LogLines): Generator<LocatedRecord> {
  for (let start = 0, end; (end = bytes.indexOf(NEWLINE, start) + 1) > 0; start = end) {
    const record = parseLine(bytes.toString("utf8", start, end - 1));
    if (record) yield { record, start: offset + start, end: offset + end };
  }
}

/** Undefined for an incomplete line, or one that isn't a record. */
export function parseLine(line: string): LogRecord | undefined {
  const { event, time, data } = parseRecord(line);
  if (typeof event !== "string") return undefined;
  return { event, time: typeof time === "string" ? time : undefined, data };
}
