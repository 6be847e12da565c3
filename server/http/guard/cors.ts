import type { IncomingMessage, ServerResponse } from "node:http";
import type { HostPolicy } from "./host.ts";

/** How long a browser may remember the answer to a preflight, in seconds. */
const REMEMBERED_S = 600;

/** Names of headers, as a browser lists them. */
const HEADER_NAMES = /^[\w!#$%&'*+.^`|~-]+(, *[\w!#$%&'*+.^`|~-]+)*$/;

/** Headers of an answer that a page may read besides the common ones. */
const EXPOSED = "x-request-id, retry-after";

/** Whether a request comes from a page whose origin was allowed. */
export function isAllowedOrigin({ headers }: IncomingMessage, { origins }: HostPolicy): boolean {
  return headers.origin !== undefined && origins.includes(headers.origin);
}

/** Whether a browser asks if a page of another origin may send a request. */
export function isPreflight({ method, headers }: IncomingMessage): boolean {
  return (
    method === "OPTIONS" &&
    headers.origin !== undefined &&
    headers["access-control-request-method"] !== undefined
  );
}

/** Lets pages of allowed origins read the answer, whatever it will be. */
export function setCorsHeaders(
  request: IncomingMessage,
  response: ServerResponse,
  policy: HostPolicy,
): void {
  if (policy.origins.length === 0) return;
  response.setHeader("Vary", "Origin");
  if (!isAllowedOrigin(request, policy)) return;
  response.setHeader("Access-Control-Allow-Origin", request.headers.origin ?? "");
  response.setHeader("Access-Control-Expose-Headers", EXPOSED);
}

/** Answers a preflight that passed the checks. What it asks to send reaches the routes with its own request. */
export function answerPreflight({ headers }: IncomingMessage, response: ServerResponse): void {
  const asked = headers["access-control-request-headers"];
  response.writeHead(204, {
    "Access-Control-Allow-Methods": "GET, POST",
    ...(asked !== undefined &&
      HEADER_NAMES.test(asked) && { "Access-Control-Allow-Headers": asked }),
    "Access-Control-Max-Age": REMEMBERED_S,
  });
  response.end();
}
