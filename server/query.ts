import type { IncomingMessage } from "node:http";

/** What follows the `?` of a request's target. */
export function queryOf({ url = "" }: IncomingMessage): URLSearchParams {
  return new URLSearchParams(url.split("?", 2)[1]);
}
