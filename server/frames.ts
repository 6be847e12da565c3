import { type LogLines, type LogRecord, type PlacedRecord, parseRecord } from "../jobs/log.ts";
import { STREAMED_EVENTS, isFinalEvent } from "../protocol/event.ts";

const NUMBER = String.raw`(?:null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[-+]?\d{1,2})?)`;
/** A log as `openLog` writes it, whole: it goes on as it is, without the cost of parsing it. */
const PLAIN_LOG = new RegExp(
  String.raw`\{"event":"training\.log","time":"[\w:.-]*","data":` +
    String.raw`(\{"[a-zA-Z]+":${NUMBER}(?:,"[a-zA-Z]+":${NUMBER})*\})\}\n`,
  "y",
);

const streamed = new Set<string>(STREAMED_EVENTS);

/** A part of a log as it is sent. */
export interface FramePart {
  frames: string;
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
    frames: records.map(({ record, offset }) => frameOf(record, offset)).join(""),
    offset: records.at(-1)?.offset ?? 0,
    isLast: records.some(({ record }) => isFinalEvent(record)),
  };
}

/** @returns nothing for lines of which none is a record */
export function toFrames({ bytes, offset }: LogLines): FramePart | undefined {
  // A character is a byte, and what matters here is ASCII.
  const text = bytes.toString("latin1");
  let part: FramePart | undefined;
  for (let start = 0, end = 0; start < text.length; start = end) {
    PLAIN_LOG.lastIndex = start;
    const plain = PLAIN_LOG.exec(text);
    end = plain ? PLAIN_LOG.lastIndex : text.indexOf("\n", start) + 1;
    const record = plain ? undefined : parseRecord(bytes.toString("utf8", start, end - 1));
    if (!plain && !record) continue;
    part ??= { frames: "", offset, isLast: false };
    part.offset = offset + end;
    if (plain?.[1]) part.frames += `id: ${part.offset}\n${frame("training.log", plain[1])}`;
    if (record) {
      part.frames += frameOf(record, part.offset);
      part.isLast ||= isFinalEvent(record);
    }
  }
  return part;
}

function frameOf({ event, data }: LogRecord, id: number): string {
  return streamed.has(event) ? `id: ${id}\n${frame(event, JSON.stringify(data ?? {}))}` : "";
}

/** One frame of an event stream, without an id. */
export function frame(event: string, data: string): string {
  return `event: ${event}\ndata: ${data}\n\n`;
}
