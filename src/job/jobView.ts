import { type LossPoint, thin } from "../../protocol/curve.ts";
import { FINAL_STATUS, isFinalEvent } from "../../protocol/event.ts";
import { EVENT_LOG_LINES } from "../../protocol/http.ts";
import { isRecord, numbersIn, parseRecord } from "../../protocol/isRecord.ts";
import { type JobStatus, isFinal } from "../../protocol/job.ts";
import { type Progress, NO_PROGRESS, reduceProgress } from "../../protocol/progress.ts";
import type { StreamFrame } from "../api/jobStream.ts";

/** A job as its page shows it, derived from the job's stream. */
export interface JobView {
  /** Undefined until an event sets it. */
  status: JobStatus | undefined;
  /**
   * Set while the server presumes that the job failed, with no event of the job to prove it: its
   * owner is gone, or silent and may come back.
   */
  presumedFailure: { before: JobStatus | undefined } | undefined;
  /** The event log's last lines, oldest first. */
  lines: readonly string[];
  /** The loss curve, thinned if it is long. */
  points: readonly LossPoint[];
  /** Whether a `training.log` event has arrived, with or without a loss. */
  hasLog: boolean;
  progress: Progress;
  error: string;
  /** Offset of the last record seen. A record at or before it is a replay. */
  offset: number;
}

export const EMPTY_JOB_VIEW: JobView = {
  status: undefined,
  presumedFailure: undefined,
  lines: [],
  points: [],
  hasLog: false,
  progress: NO_PROGRESS,
  error: "",
  offset: -1,
};

/**
 * Something that happened on the stream. `owner back` withdraws a presumed failure: the owner reports
 * again, or a new connection will repeat the presumption if it still holds.
 */
export type StreamEvent = StreamFrame | "stream error" | "owner back";

/** The view after `streamEvents`, oldest first. Pure. */
export function advance(before: JobView, streamEvents: readonly StreamEvent[]): JobView {
  const after = { ...before };
  const lines: string[] = [];
  const points: LossPoint[] = [];
  for (const streamEvent of streamEvents) {
    if (streamEvent === "stream error") lines.push("[stream error]");
    else if (streamEvent === "owner back") withdrawPresumption(after);
    else apply(streamEvent, after, lines, points);
  }
  if (lines.length) {
    const split = lines.slice(-EVENT_LOG_LINES).flatMap((line) => line.split("\n"));
    after.lines = [...before.lines, ...split].slice(-EVENT_LOG_LINES);
  }
  if (points.length) after.points = thin(before.points.concat(points));
  return after;
}

function apply(frame: StreamFrame, view: JobView, lines: string[], points: LossPoint[]): void {
  const offset = offsetOf(frame);
  // Without an object as its data, an event still counts, and the event log shows its raw text.
  const data = parseRecord(frame.data);
  // Without an offset (NaN), a frame is neither new nor a replay.
  const isNew = offset > view.offset;
  if (frame.event === "training.failed" && !isNew) return presumeFailure(data, frame, view);
  // A final event may be applied twice: the second time changes nothing.
  if (offset <= view.offset && !isFinalEvent(frame)) return;
  if (isNew) view.offset = offset;
  if (isFinalEvent(frame)) withdrawPresumption(view);
  view.progress = reduceProgress(view.progress, { ...frame, data });
  switch (frame.event) {
    case "training.started":
      withdrawPresumption(view);
      view.status = "running";
      lines.push(`[started] ${frame.data}`);
      break;
    case "training.log": {
      const { step, loss } = numbersIn(data);
      view.hasLog = true;
      lines.push(`[log] step=${step ?? "n/a"} loss=${loss ?? "n/a"}`);
      if (step !== undefined && loss !== undefined) points.push({ step, loss });
      break;
    }
    case "training.preparing":
    case "checkpoint.evaluating":
    case "checkpoint.evaluated":
      break;
    case "checkpoint.saved":
      lines.push(`[checkpoint] ${frame.data}`);
      break;
    case "training.completed":
      view.status = FINAL_STATUS[frame.event];
      break;
    case "training.failed":
      fail(data, frame, view);
      break;
  }
}

/** Applies a failure that the server presumes. The log has no record of it, so it has no offset. */
function presumeFailure(data: Record<string, unknown>, frame: StreamFrame, view: JobView): void {
  const { status, presumedFailure } = view;
  // The job's own final event outranks the presumption.
  if (!presumedFailure && status && isFinal(status)) return;
  view.presumedFailure = presumedFailure ?? { before: status };
  fail(data, frame, view);
}

function withdrawPresumption(view: JobView): void {
  if (!view.presumedFailure) return;
  view.status = view.presumedFailure.before;
  view.error = "";
  view.presumedFailure = undefined;
}

function fail(data: Record<string, unknown>, frame: StreamFrame, view: JobView): void {
  view.status = FINAL_STATUS["training.failed"];
  view.error = messageIn(data) ?? frame.data;
}

/** NaN if the frame has none. */
function offsetOf({ id }: StreamFrame): number {
  return /^\d+$/.test(id) ? Number(id) : NaN;
}

function messageIn({ error, message }: Record<string, unknown>): string | undefined {
  const text = isRecord(error) ? error.message : (error ?? message);
  return typeof text === "string" ? text : undefined;
}
