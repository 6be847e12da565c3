import { type LossPoint, thin } from "../protocol/curve.ts";
import { FINAL_STATUS, isFinalEvent } from "../protocol/event.ts";
import { type JobStatus, isFinal } from "../protocol/job.ts";
import type { StreamFrame } from "./api/jobStream.ts";
import { isRecord } from "./api/request.ts";

/** What a job's page knows from the job's stream. */
export interface JobProgress {
  /** Undefined until an event tells. */
  status: JobStatus | undefined;
  /**
   * Set while `failed` is what the server takes the job for, with no event of the job behind it:
   * its owner is gone, or silent and may come back.
   */
  presumed: { before: JobStatus | undefined } | undefined;
  /** The event log's last lines, oldest first. */
  lines: readonly string[];
  /** The loss curve, thinned where it is long. */
  points: readonly LossPoint[];
  /** Whether a `training.log` event has come, with a loss or without. */
  logged: boolean;
  /** A count, once the job has completed. */
  artifacts: number | undefined;
  /** Why the job failed. */
  error: string;
  /** Offset of the last record seen; a record at or before it is a replay. */
  offset: number;
}

export const NO_PROGRESS: JobProgress = {
  status: undefined,
  presumed: undefined,
  lines: [],
  points: [],
  logged: false,
  artifacts: undefined,
  error: "",
  offset: -1,
};

export const EVENT_LOG_LINES = 50;

/**
 * Something that happened on the stream: a frame, or that it broke. `owner back`: what was presumed
 * holds no more, for the owner reports again, or a new connection says it anew if it is so.
 */
export type StreamHappening = StreamFrame | "stream error" | "owner back";

/** What is known after `happenings`, which came in this order. Pure. */
export function advance(before: JobProgress, happenings: readonly StreamHappening[]): JobProgress {
  const after = { ...before };
  const lines: string[] = [];
  const points: LossPoint[] = [];
  for (const happening of happenings) {
    if (happening === "stream error") lines.push("[stream error]");
    else if (happening === "owner back") revive(after);
    else apply(happening, after, lines, points);
  }
  if (lines.length) {
    const split = lines.slice(-EVENT_LOG_LINES).flatMap((line) => line.split("\n"));
    after.lines = [...before.lines, ...split].slice(-EVENT_LOG_LINES);
  }
  if (points.length) after.points = thin(before.points.concat(points));
  return after;
}

function apply(
  frame: StreamFrame,
  progress: JobProgress,
  lines: string[],
  points: LossPoint[],
): void {
  const offset = offsetOf(frame);
  const data = parse(frame.data);
  const isNew = offset > progress.offset;
  if (frame.event === "training.failed" && !isNew) return presume(data, frame, progress);
  // Applying a final event twice changes nothing.
  if (offset <= progress.offset && !isFinalEvent(frame)) return;
  if (isNew) progress.offset = offset;
  if (isFinalEvent(frame)) revive(progress);
  switch (frame.event) {
    case "training.started":
      revive(progress);
      progress.status = "running";
      lines.push(`[started] ${frame.data}`);
      break;
    case "training.log": {
      const step = numberIn(data, "step");
      const loss = numberIn(data, "loss");
      progress.logged = true;
      lines.push(`[log] step=${step ?? "n/a"} loss=${loss ?? "n/a"}`);
      if (step !== undefined && loss !== undefined) points.push({ step, loss });
      break;
    }
    case "checkpoint.saved":
      lines.push(`[checkpoint] ${frame.data}`);
      break;
    case "training.completed":
      progress.status = FINAL_STATUS[frame.event];
      if (Array.isArray(data.artifacts)) progress.artifacts = data.artifacts.length;
      break;
    case "training.failed":
      fail(data, frame, progress);
      break;
  }
}

/** The server's own word, with no record and so no offset behind it. */
function presume(data: Record<string, unknown>, frame: StreamFrame, progress: JobProgress): void {
  const { status, presumed } = progress;
  // What the job itself has said outranks it.
  if (!presumed && status && isFinal(status)) return;
  progress.presumed = presumed ?? { before: status };
  fail(data, frame, progress);
}

function revive(progress: JobProgress): void {
  if (!progress.presumed) return;
  progress.status = progress.presumed.before;
  progress.error = "";
  progress.presumed = undefined;
}

function fail(data: Record<string, unknown>, frame: StreamFrame, progress: JobProgress): void {
  progress.status = FINAL_STATUS["training.failed"];
  progress.error = messageIn(data) ?? frame.data;
}

/** NaN, which compares with nothing, when the frame tells none. */
function offsetOf({ id }: StreamFrame): number {
  return /^\d+$/.test(id) ? Number(id) : NaN;
}

function parse(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : {};
  } catch {
    // The event itself still counts; its raw text goes to the log where a line shows it.
    return {};
  }
}

function numberIn(data: Record<string, unknown>, key: string): number | undefined {
  const value = data[key];
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

function messageIn({ error, message }: Record<string, unknown>): string | undefined {
  const found = isRecord(error) ? error.message : (error ?? message);
  return typeof found === "string" ? found : undefined;
}
