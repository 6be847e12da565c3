import type { Route } from "../context.ts";

/** `GET /api/jobs`: the project's jobs, newest first; 304 when nothing has changed. */
export const getJobs: Route = ({ jobsAnswer }, { request, response }) => {
  const { etag, parts, bytes } = jobsAnswer();
  const headers = { ETag: etag, "Cache-Control": "no-cache" };
  // May be one of several, or marked as weak by a proxy that compresses.
  if (request.headers["if-none-match"]?.includes(etag)) {
    response.writeHead(304, headers).end();
    return;
  }
  response.writeHead(200, {
    ...headers,
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": bytes,
  });
  // Sends all parts in one system call.
  response.cork();
  for (const part of parts) response.write(part);
  response.end();
};
