import { lstatSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { type FollowOptions, tailFile } from "../../disk/follow.ts";
import { createLineSplitter } from "../../jobs/log/lines.ts";
import { isRecordBoundary } from "../../jobs/log/read.ts";
import { readThinnedLog } from "../../jobs/log/thinned.ts";
import { OWNER_GONE, OWNER_SILENT } from "../../jobs/status.ts";
import { HEARTBEAT, END_OF_STREAM, OWNER_DETACHED, OWNER_RETURNED } from "../../protocol/event.ts";
import { HISTORY, RESUME_FROM, THINNED } from "../../protocol/http.ts";
import type { ServerContext } from "../context.ts";
import { closeSignal, sendError, writeChunk } from "../http/respond.ts";
import type { RequestContext } from "../http/router.ts";
import { byteOffset, targetOf } from "../http/target.ts";
import { type FrameBatch, frame, framesOf, sharedFrames } from "../jobs/frames.ts";
import { createOwnerWatch } from "../jobs/ownerWatch.ts";
import { noJob } from "./jobs.ts";

const RETRY_MS = 2_000;
const HEARTBEAT_MS = 15_000;
/** A reconnecting client that missed more gets a thinned history. */
const MAX_UNTHINNED_BYTES = 1024 * 1024;

/** When the owner stopped reporting, detached from a remote job, or reports again. */
const OWNER_FRAMES = {
  silent: unrecordedFailure(OWNER_SILENT),
  unfollowed: frame(OWNER_DETACHED, {}),
  held: frame(OWNER_RETURNED, {}),
};

/** `GET /api/jobs/:id/events`: the job's events after `Last-Event-ID`, as they are written. */
export async function getJobEvents(
  { jobs, admitStream }: ServerContext,
  { request, response }: RequestContext,
  id: string,
): Promise<void> {
  if (!jobs.get(id)) {
    sendError(response, 404, noJob(id));
    return;
  }
  const path = jobs.logPath(id);
  const lastEventId = request.headers["last-event-id"];
  const { query } = targetOf(request);
  const from = resumeOffset(path, lastEventId ?? query.get(RESUME_FROM) ?? undefined);
  let offset = from;
  const hasEnded = jobs.hasEnded(id);
  if (hasEnded && lastEventId !== undefined && from > 0 && from === sizeOf(path)) {
    // The client has read everything. A 204 stops the browser from reconnecting.
    response.writeHead(204).end();
    return;
  }
  if (!admitStream(response)) return;
  openStream(response);
  const isThinned = query.get(HISTORY) === THINNED;
  const heartbeat = setInterval(
    () => response.write(isThinned ? frame(HEARTBEAT, {}) : ":\n\n"),
    HEARTBEAT_MS,
  );
  try {
    const signal = closeSignal(response);
    const owner = createOwnerWatch(
      () => jobs.leaseOf(id),
      (state) => response.write(OWNER_FRAMES[state]),
    );
    const follow: FollowOptions = hasEnded
      ? { signal, ended: () => true }
      : { signal, ended: owner.isGone, onTick: owner.check };
    let isLast = false;
    const send = async (batch: FrameBatch) => {
      // Report the owner's return before its new events.
      if (owner.isSilent()) owner.check();
      await writeChunk(response, batch.frames);
      ({ offset, isLast } = batch);
    };
    if (isThinned && needsThinning(path, from)) {
      for await (const records of readThinnedLog(path, { from, signal })) {
        const batch = framesOf(records, isThinned);
        if (batch) await send(batch);
        if (isLast) break;
      }
    }
    if (!isLast) {
      const splitLines = createLineSplitter(offset);
      for await (const chunk of tailFile(path, { ...follow, from: offset })) {
        const lines = splitLines(chunk);
        const batch = lines && sharedFrames(lines, isThinned);
        if (batch) await send(batch);
        if (isLast) break;
      }
    }
    if (signal.aborted) return;
    if (!isLast && !jobs.hasEnded(id)) {
      await writeChunk(response, unrecordedFailure(OWNER_GONE));
    }
    // The log's last record may not be streamed: `training.cancelled` is not.
    response.end(`id: ${offset}\n${frame(END_OF_STREAM, {})}`);
  } finally {
    clearInterval(heartbeat);
  }
}

function openStream(response: ServerResponse): void {
  response.writeHead(200, {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",
  });
  response.write(`retry: ${RETRY_MS}\n\n`);
}

/** A failure that the owner could not record; it is not in the log, so it has no id. */
function unrecordedFailure(error: string): string {
  return frame("training.failed", { error });
}

/** The offset to resume from after this id; the start for an id of another log. */
function resumeOffset(path: string, lastEventId: string | string[] | undefined): number {
  const offset = byteOffset(lastEventId);
  return isRecordBoundary(path, offset) ? offset : 0;
}

function needsThinning(path: string, from: number): boolean {
  return from === 0 || sizeOf(path) - from > MAX_UNTHINNED_BYTES;
}

function sizeOf(path: string): number {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isFile() ? stats.size : 0;
}
