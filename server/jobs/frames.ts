import { type LogLines, type LocatedRecord, recordsIn } from "../../jobs/log/lines.ts";
import { PAGE_EVENTS, STREAMED_EVENTS, TIME, isFinalEvent } from "../../protocol/event.ts";

const streamedEvents = new Set<string>(STREAMED_EVENTS);
const pageEvents = new Set<string>(PAGE_EVENTS);

/** Records of a log as Server-Sent Events. */
export interface FrameBatch {
  frames: Buffer;
  /** Id of the last record, sent or not. */
  offset: number;
  /** Whether it contains the job's final event. */
  isLast: boolean;
}

type FrameCache = WeakMap<Buffer, FrameBatch | undefined>;

/** Shared by all followers of a log, which get the same buffer. */
const plainFrames: FrameCache = new WeakMap();
const timedFrames: FrameCache = new WeakMap();

/** Like {@link framesOf}, but computed once per buffer. */
export function sharedFrames(lines: LogLines, withTimes: boolean): FrameBatch | undefined {
  const cache = withTimes ? timedFrames : plainFrames;
  if (!cache.has(lines.bytes)) cache.set(lines.bytes, framesOf([...recordsIn(lines)], withTimes));
  return cache.get(lines.bytes);
}

/**
 * @param withTimes whether a frame with its time precedes each event's
 * @returns undefined for no records
 */
export function framesOf(
  records: readonly LocatedRecord[],
  withTimes: boolean,
): FrameBatch | undefined {
  const last = records.at(-1);
  if (!last) return undefined;
  return {
    frames: Buffer.from(records.map((record) => frameOf(record, withTimes)).join("")),
    offset: last.end,
    isLast: records.some(({ record }) => isFinalEvent(record)),
  };
}

function frameOf(
  { record: { event, data = {}, time }, end }: LocatedRecord,
  withTimes: boolean,
): string {
  if (!(withTimes ? pageEvents : streamedEvents).has(event)) return "";
  const eventFrame = `id: ${end}\n${frame(event, data)}`;
  return withTimes && time !== undefined ? frame(TIME, time) + eventFrame : eventFrame;
}

/** One frame of an event stream, without an id. */
export function frame(event: string, data: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
