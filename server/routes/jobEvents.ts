import type { IncomingMessage, ServerResponse } from "node:http";
import { statSync } from "node:fs";
import { type PlacedRecord, followLog, isRecordBoundary } from "../../jobs/log.ts";
import { OWNER_GONE } from "../../jobs/status.ts";
import { END_OF_STREAM, STREAMED_EVENTS, isFinalEvent } from "../../protocol/event.ts";
import { RESUME_FROM } from "../../protocol/http.ts";
import type { Exchange, ServerContext } from "../context.ts";
import { closeSignal, sendError, writeChunk } from "../respond.ts";

const RETRY_MS = 2_000;
const HEARTBEAT_MS = 15_000;

const streamed = new Set<string>(STREAMED_EVENTS);

/** `GET /api/jobs/:id/events`: the job's events from `Last-Event-ID` on, as they are written. */
export async function getJobEvents(
  { jobs }: ServerContext,
  { request, response }: Exchange,
  id: string,
): Promise<void> {
  if (!jobs.get(id)) {
    sendError(response, 404, `There is no job ${id} in this project. See the list of jobs.`);
    return;
  }
  const path = jobs.logPath(id);
  const lastEventId = request.headers["last-event-id"];
  const from = resumeOffset(path, lastEventId ?? resumeQuery(request));
  let offset = from;
  const hasEnded = jobs.hasEnded(id);
  if (hasEnded && lastEventId !== undefined && from > 0 && from === sizeOf(path)) {
    // Read to its end: this stops the browser from connecting again.
    response.writeHead(204).end();
    return;
  }
  openStream(response);
  const heartbeat = setInterval(() => response.write(":\n\n"), HEARTBEAT_MS);
  try {
    const ended = () => hasEnded || jobs.isAbandoned(id);
    const signal = closeSignal(response);
    for await (const records of followLog(path, { from, signal, ended })) {
      await writeChunk(response, records.map(toFrame).join(""));
      offset = records.at(-1)?.offset ?? offset;
      if (records.some(({ record }) => isFinalEvent(record))) break;
    }
    if (signal.aborted) return;
    if (!jobs.hasEnded(id)) {
      // The owner could not write this itself, so it has no place in the log and no id.
      await writeChunk(response, frame("training.failed", JSON.stringify({ error: OWNER_GONE })));
    }
    // With the id of a last record that is not sent, such as that of a cancelled job.
    response.end(`id: ${offset}\n${frame(END_OF_STREAM, "{}")}`);
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

function resumeQuery({ url = "" }: IncomingMessage): string | null {
  return new URLSearchParams(url.split("?", 2)[1]).get(RESUME_FROM);
}

/** Where a client that saw this id goes on; the start for an id that is not of this log. */
function resumeOffset(path: string, lastEventId: string | string[] | null): number {
  if (typeof lastEventId !== "string" || !/^\d{1,15}$/.test(lastEventId)) return 0;
  const offset = Number(lastEventId);
  return isRecordBoundary(path, offset) ? offset : 0;
}

function toFrame({ record, offset }: PlacedRecord): string {
  if (!streamed.has(record.event)) return "";
  return `id: ${offset}\n${frame(record.event, JSON.stringify(record.data ?? {}))}`;
}

function frame(event: string, data: string): string {
  return `event: ${event}\ndata: ${data}\n\n`;
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
