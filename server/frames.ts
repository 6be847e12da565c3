import {
  type LogLines,
  type LogRecord,
  type PlacedRecord,
  NEWLINE,
  NUMBER,
  parseRecord,
} from "../jobs/log.ts";
import { STREAMED_EVENTS, isFinalEvent } from "../protocol/event.ts";

const VALUE = `(?:null|${NUMBER})`;
/** A log as `openLog` writes it, whole: it goes on as it is, without the cost of parsing it. */
const PLAIN_LOG = new RegExp(
  String.raw`\{"event":"training\.log","time":"[\w:.-]{24}","data":` +
    String.raw`\{"[a-zA-Z]+":${VALUE}(?:,"[a-zA-Z]+":${VALUE})*\}\}\n`,
  "y",
);
/** Where its data begins, and what is behind it. */
const DATA_AT = '{"event":"training.log","time":"2026-01-01T00:00:00.000Z","data":'.length;
const BEHIND_DATA = "}\n".length;
/** So much becomes text at once. The collector of garbage has more work with a longer one. */
const TEXT_BYTES = 32 * 1024;

const streamed = new Set<string>(STREAMED_EVENTS);

/** A part of a log as it is sent. */
export interface FramePart {
  frames: Buffer;
  /** The id of the last record, sent or not. */
  offset: number;
  /** Whether it holds the event that ends the job. */
  isLast: boolean;
}

/** What was made of lines, for all who follow the same log. */
const made = new WeakMap<Buffer, FramePart | undefined>();

/** As `toFrames`, once for each buffer. */
export function sharedFrames(lines: LogLines): FramePart | undefined {
  if (!made.has(lines.bytes)) made.set(lines.bytes, toFrames(lines));
  return made.get(lines.bytes);
}

export function framesOfRecords(records: PlacedRecord[]): FramePart {
  return {
    frames: Buffer.from(records.map(({ record, offset }) => frameOf(record, offset)).join("")),
    offset: records.at(-1)?.offset ?? 0,
    isLast: records.some(({ record }) => isFinalEvent(record)),
  };
}

/** @returns nothing for lines of which none is a record */
export function toFrames({ bytes, offset }: LogLines): FramePart | undefined {
  const parts: FramePart[] = [];
  for (let from = 0, to = 0; from < bytes.length; from = to) {
    to = bytes.lastIndexOf(NEWLINE, from + TEXT_BYTES - 1) + 1;
    // A line may be longer.
    if (to <= from) to = bytes.indexOf(NEWLINE, from) + 1;
    const part = framesOfText(bytes.toString("latin1", from, to), offset + from);
    if (part) parts.push(part);
  }
  const last = parts.at(-1);
  if (!last) return undefined;
  return {
    frames: Buffer.concat(parts.map(({ frames }) => frames)),
    offset: last.offset,
    isLast: parts.some(({ isLast }) => isLast),
  };
}

/** @param text lines of which each character is a byte: what matters here is ASCII */
function framesOfText(text: string, offset: number): FramePart | undefined {
  let frames = "";
  let last: number | undefined;
  let isLast = false;
  for (let start = 0, end = 0; start < text.length; start = end) {
    PLAIN_LOG.lastIndex = start;
    if (PLAIN_LOG.test(text)) {
      end = PLAIN_LOG.lastIndex;
      const data = text.slice(start + DATA_AT, end - BEHIND_DATA);
      frames += `id: ${offset + end}\n${frame("training.log", data)}`;
    } else {
      end = text.indexOf("\n", start) + 1;
      const record = parseRecord(Buffer.from(text.slice(start, end), "latin1").toString());
      if (!record) continue;
      frames += Buffer.from(frameOf(record, offset + end)).toString("latin1");
      isLast ||= isFinalEvent(record);
    }
    last = offset + end;
  }
  if (last === undefined) return undefined;
  return { frames: Buffer.from(frames, "latin1"), offset: last, isLast };
}

function frameOf({ event, data }: LogRecord, id: number): string {
  return streamed.has(event) ? `id: ${id}\n${frame(event, JSON.stringify(data ?? {}))}` : "";
}

/** One frame of an event stream, without an id. */
export function frame(event: string, data: string): string {
  return `event: ${event}\ndata: ${data}\n\n`;
}
