import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { sendError } from "./respond.ts";

/** A browser sends about 1 KiB; cookies of other servers on this machine's name add to it. */
export const MOST_HEADER_BYTES = 32 * 1024;
/** No route reads a body. This much is let pass, for clients that send an empty object. */
const MOST_BODY_BYTES = 64 * 1024;
/** A whole request comes within this, however slowly it is sent. */
const REQUEST_MS = 30_000;
/** The head of a request is small and comes at once. */
const HEADERS_MS = 10_000;
/** Longer than a browser's poll of 5 s, so that it keeps its connection. */
const IDLE_MS = 15_000;
/** How often slow connections are looked for. */
const CHECK_MS = 5_000;
/** A browser has six to a server; this is for many people, and keeps file descriptors in reserve. */
export const MOST_CONNECTIONS = 1_000;

/** Options of `createServer`. */
export const SERVER_LIMITS = {
  maxHeaderSize: MOST_HEADER_BYTES,
  requestTimeout: REQUEST_MS,
  headersTimeout: HEADERS_MS,
  keepAliveTimeout: IDLE_MS,
  connectionsCheckingInterval: CHECK_MS,
};

/** Counts those of all addresses that the server answers on; `maxConnections` is for one. */
export function limitConnections(server: Server): void {
  let open = 0;
  server.prependListener("connection", (socket: Socket) => {
    open++;
    socket.once("close", () => open--);
    if (open > MOST_CONNECTIONS) socket.destroy();
  });
}

/** Answers 413 to a body that is long or does not say how long it is. Any other is read away. */
export function limitBody(request: IncomingMessage, response: ServerResponse): boolean {
  const { headers } = request;
  const length = Number(headers["content-length"] ?? 0);
  if (length <= MOST_BODY_BYTES && headers["transfer-encoding"] === undefined) {
    request.resume();
    return true;
  }
  response.setHeader("Connection", "close");
  response.once("finish", () => request.destroy());
  sendError(response, 413, "Send no body; no route reads one.");
  return false;
}
