import { randomBytes } from "node:crypto";
import { statsOf } from "../../disk/file.ts";
import { progressOf } from "../../jobs/jobStart.ts";
import {
  type JobResponse,
  type JobsResponse,
  RUN_HEADER,
  RUN_STATUS_HEADER,
} from "../../protocol/http.ts";
import type { Job } from "../../protocol/job.ts";
import type { Route } from "../context.ts";
import { sendError, sendJson } from "../http/respond.ts";

interface CachedResponse {
  tag: string;
  body: Buffer;
}

/** Cached by array: the store returns the same one until something changes. */
const responses = new WeakMap<readonly Job[], CachedResponse>();

function responseOf(jobs: readonly Job[]): CachedResponse {
  const cached = responses.get(jobs);
  if (cached) return cached;
  const body = Buffer.from(JSON.stringify({ jobs } satisfies JobsResponse));
  const answer = { tag: randomBytes(12).toString("base64url"), body };
  responses.set(jobs, answer);
  return answer;
}

/** `GET /api/jobs`: the project's jobs, newest first, and its last run; 304 when nothing has changed. */
export const getJobs: Route = ({ jobs, runner }, { request, response }) => {
  const run = runner.peekLast();
  const status = run?.status();
  const { tag, body } = responseOf(jobs.list());
  const etag = `"${[tag, ...(run ? [run.id, status] : [])].join("-")}"`;
  const headers = {
    ETag: etag,
    "Cache-Control": "no-cache",
    ...(run && { [RUN_HEADER]: run.id, [RUN_STATUS_HEADER]: status }),
  };
  // The header may list several, or mark it as weak behind a compressing proxy.
  if (request.headers["if-none-match"]?.includes(etag)) {
    response.writeHead(304, headers).end();
    return;
  }
  response.writeHead(200, {
    ...headers,
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": body.length,
  });
  response.end(body);
};

export const getJob: Route = ({ jobs }, { response }, id) => {
  const entry = jobs.get(id);
  if (!entry) return sendError(response, 404, noJob(id));
  const { job } = entry;
  const isRunning = job.status === "running";
  const progress = isRunning ? progressOf(jobs.directoryOf(id)) : undefined;
  const stats = isRunning ? statsOf(jobs.logPath(id)) : undefined;
  const log = stats && { size: stats.size, quietMs: Math.max(0, Date.now() - stats.mtimeMs) };
  sendJson(response, 200, { ...job, progress, log } satisfies JobResponse);
};

export function noJob(id: string): string {
  return `There is no job ${id} in this project. See the list of jobs.`;
}
