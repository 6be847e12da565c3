import type { IncomingMessage, ServerResponse } from "node:http";
import { type ServerIdentity, METHODS } from "../respond.ts";
import type { HostPolicy } from "./host.ts";

/** How long a browser may cache a preflight, in seconds. */
const MAX_AGE_S = 600;

/** A browser's list of header names. */
const HEADER_NAMES = /^[\w!#$%&'*+.^`|~-]+(, *[\w!#$%&'*+.^`|~-]+)*$/;

/** Extra response headers that a page may read. */
const EXPOSED = "x-request-id, retry-after";

/** Whether a request comes from a page whose origin was allowed. */
export function isAllowedOrigin({ headers }: IncomingMessage, { origins }: HostPolicy): boolean {
  return headers.origin !== undefined && origins.includes(headers.origin);
}

/** Whether a request is a CORS preflight. */
export function isPreflight({ method, headers }: IncomingMessage): boolean {
  return (
    method === "OPTIONS" &&
    headers.origin !== undefined &&
    headers["access-control-request-method"] !== undefined
  );
}

/** Lets pages of allowed origins read any response. */
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

/** Answers a preflight that passed the checks. */
export function answerPreflight(
  { headers }: IncomingMessage,
  response: ServerResponse,
  { methods = METHODS }: ServerIdentity,
): void {
  const requestedHeaders = headers["access-control-request-headers"];
  response.writeHead(204, {
    "Access-Control-Allow-Methods": methods.filter((method) => method !== "HEAD").join(", "),
    ...(requestedHeaders !== undefined &&
      HEADER_NAMES.test(requestedHeaders) && { "Access-Control-Allow-Headers": requestedHeaders }),
    "Access-Control-Max-Age": MAX_AGE_S,
  });
  response.end();
}
