import { type LogLines, type PlacedRecord, recordsIn } from "../../jobs/log.ts";
import { STREAMED_EVENTS, isFinalEvent } from "../../protocol/event.ts";
import { isRecord } from "../../protocol/isRecord.ts";

const streamed = new Set<string>(STREAMED_EVENTS);

/** A part of a log as Server-Sent Events. */
export interface FramePart {
  frames: Buffer;
  /** The id of the last record, sent or not. */
  offset: number;
  /** Whether it holds the event that ends the job. */
  isLast: boolean;
}

/** One part for all followers of a log, which get the same buffer. */
const made = new WeakMap<Buffer, FramePart | undefined>();

/** As {@link framesOf}, but once for each buffer. */
export function sharedFrames(lines: LogLines): FramePart | undefined {
  if (!made.has(lines.bytes)) made.set(lines.bytes, framesOf(recordsIn(lines)));
  return made.get(lines.bytes);
}

/** @returns undefined for no records */
export function framesOf(records: readonly PlacedRecord[]): FramePart | undefined {
  const last = records.at(-1);
  if (!last) return undefined;
  return {
    frames: Buffer.from(records.map(frameOf).join("")),
    offset: last.offset,
    isLast: records.some(({ record }) => isFinalEvent(record)),
  };
}

function frameOf({ record: { event, data = {}, time }, offset }: PlacedRecord): string {
  if (!streamed.has(event)) return "";
  // The page needs the time, which the record has beside its data.
  return `id: ${offset}\n${frame(event, isRecord(data) ? { ...data, time } : data)}`;
}

/** One frame of an event stream, without an id. */
export function frame(event: string, data: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
