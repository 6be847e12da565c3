import type { IncomingMessage, ServerResponse } from "node:http";
import { sendError } from "./http/respond.ts";

/** No route reads a body. This much is accepted, for clients that send an empty object. */
const MOST_BYTES = 64 * 1024;

/** Discards the body. Answers 413 to one that is long or does not declare its length. */
export function discardBody(request: IncomingMessage, response: ServerResponse): boolean {
  const { headers } = request;
  // A client that is cut off while it sends would not see the answer.
  request.resume();
  const length = Number(headers["content-length"] ?? 0);
  if (length <= MOST_BYTES && headers["transfer-encoding"] === undefined) return true;
  sendError(response, 413, "Send no body; no route reads one.");
  return false;
}
