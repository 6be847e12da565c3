import { type LogLines, type PlacedRecord, recordsIn } from "../../jobs/log/lines.ts";
import { PAGE_EVENTS, STREAMED_EVENTS, TIME, isFinalEvent } from "../../protocol/event.ts";

const streamed = new Set<string>(STREAMED_EVENTS);
const onPages = new Set<string>(PAGE_EVENTS);

/** A part of a log as Server-Sent Events. */
export interface FramePart {
  frames: Buffer;
  /** The id of the last record, sent or not. */
  offset: number;
  /** Whether it holds the event that ends the job. */
  isLast: boolean;
}

type Made = WeakMap<Buffer, FramePart | undefined>;

/** One part for all followers of a log, which get the same buffer. */
const plain: Made = new WeakMap();
const timed: Made = new WeakMap();

/** As {@link framesOf}, but once for each buffer. */
export function sharedFrames(lines: LogLines, withTimes: boolean): FramePart | undefined {
  const made = withTimes ? timed : plain;
  if (!made.has(lines.bytes)) made.set(lines.bytes, framesOf([...recordsIn(lines)], withTimes));
  return made.get(lines.bytes);
}

/**
 * @param withTimes whether a frame with its time precedes each event's
 * @returns undefined for no records
 */
export function framesOf(
  records: readonly PlacedRecord[],
  withTimes: boolean,
): FramePart | undefined {
  const last = records.at(-1);
  if (!last) return undefined;
  return {
    frames: Buffer.from(records.map((record) => frameOf(record, withTimes)).join("")),
    offset: last.offset,
    isLast: records.some(({ record }) => isFinalEvent(record)),
  };
}

function frameOf(
  { record: { event, data = {}, time }, offset }: PlacedRecord,
  withTimes: boolean,
): string {
  if (!(withTimes ? onPages : streamed).has(event)) return "";
  const sent = `id: ${offset}\n${frame(event, data)}`;
  return withTimes && time !== undefined ? frame(TIME, time) + sent : sent;
}

/** One frame of an event stream, without an id. */
export function frame(event: string, data: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
