import type { Route } from "../context.ts";

/** `GET /api/jobs`: the project's jobs, newest first; 304 when nothing has changed. */
export const getJobs: Route = ({ jobsAnswer }, { request, response }) => {
  const { etag, parts, bytes } = jobsAnswer();
  const headers = { ETag: etag, "Cache-Control": "no-cache" };
  // Among others, or marked as weak by a proxy that compresses.
  if (request.headers["if-none-match"]?.includes(etag)) {
    response.writeHead(304, headers).end();
    return;
  }
  response.writeHead(200, {
    ...headers,
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": bytes,
  });
  // All in one call of the system.
  response.cork();
  for (const part of parts) response.write(part);
  response.end();
};
