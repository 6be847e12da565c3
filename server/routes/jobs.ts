import { createHash } from "node:crypto";
import type { JobsResponse } from "../../protocol/http.ts";
import type { Route } from "../context.ts";

/** `GET /api/jobs`: the project's jobs, newest first; 304 when nothing has changed. */
export const getJobs: Route = ({ jobs }, { request, response }) => {
  const answer: JobsResponse = { jobs: jobs.list() };
  const body = JSON.stringify(answer);
  const etag = `"${createHash("sha1").update(body).digest("base64url")}"`;
  const headers = { ETag: etag, "Cache-Control": "no-cache" };
  // Among others, or marked as weak by a proxy that compresses.
  if (request.headers["if-none-match"]?.includes(etag)) {
    response.writeHead(304, headers).end();
    return;
  }
  response.writeHead(200, {
    ...headers,
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": Buffer.byteLength(body),
  });
  response.end(body);
};
