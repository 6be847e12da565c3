import { type RequestListener, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type ServerIdentity, SECURITY_HEADERS, errorBody } from "./respond.ts";

const MALFORMED = 400;

/** Maximum pipelined requests. Browsers never pipeline, and each takes memory. */
const MAX_PIPELINED = 32;

/** Time between two interim responses, in ms: the second one fails if the client is gone. */
const PROBE_MS = 250;

/** Node's code for a request that arrives too slowly. */
export const LATE_CODE = "ERR_HTTP_REQUEST_TIMEOUT";

/** HTTP statuses by Node's error code. */
const STATUSES: Record<string, number> = {
  [LATE_CODE]: 408,
  HPE_HEADER_OVERFLOW: 431,
};

function messageFor(status: number, { advice }: ServerIdentity): string {
  switch (status) {
    case 405:
      return `This server is not a proxy. ${advice}`;
    case 408:
      return "The request took too long to arrive. Send it again.";
    case 431:
      return "The request's headers are too long. If a browser sent them, delete its cookies for this name.";
    default:
      return `Malformed HTTP request. ${advice} Use http, not https.`;
  }
}

/**
 * Answers malformed and late requests on the bare socket; they never reach the request handler.
 * @param pendingResponse the response that a connection awaits; if it has begun, an error would corrupt it
 */
export function answerClientErrors(
  server: Server,
  identity: ServerIdentity,
  pendingResponse: (socket: Duplex) => ServerResponse | undefined,
): void {
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    const pending = pendingResponse(socket);
    if (!socket.writable || pending?.headersSent) socket.destroy();
    else if (pending?.req.complete) {
      // The malformed bytes follow a request that still gets its response.
      stopReading(socket);
      pending.once("close", () => socket.destroy());
    } else answer(socket, STATUSES[error.code ?? ""] ?? MALFORMED, identity);
  });
  server.on("connect", (_, socket) => answer(socket, 405, identity));
}

function answer(socket: Duplex, status: number, identity: ServerIdentity): void {
  const body = JSON.stringify(errorBody(status, messageFor(status, identity), identity));
  const headers = {
    ...SECURITY_HEADERS,
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": Buffer.byteLength(body),
    "Cache-Control": "no-store",
    Connection: "close",
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  // The client may disconnect meanwhile.
  socket.on("error", () => undefined);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}\r\n${body}`, () =>
    socket.destroy(),
  );
}

/**
 * Handles a connection's requests one after another. Node would start all at once, and emit no "close"
 * for queued ones when their client disconnects.
 * @param refuse answers the first request over the limit, and ends the connection
 */
export function serializeRequests(
  answer: RequestListener,
  refuse: RequestListener,
): RequestListener {
  const waiting = new WeakMap<Socket, number>();
  return (request, response) => {
    const { socket } = request;
    if (response.socket) return answer(request, response);
    const ahead = waiting.get(socket) ?? 0;
    waiting.set(socket, ahead + 1);
    if (ahead > MAX_PIPELINED) return;
    if (ahead === MAX_PIPELINED) stopReading(socket);
    response.once("socket", () => {
      waiting.set(socket, (waiting.get(socket) ?? 1) - 1);
      (ahead < MAX_PIPELINED ? answer : refuse)(request, response);
    });
  };
}

/** Drops further input, so that the client's disconnect is noticed. Up to 64 KiB already read is still parsed. */
function stopReading(socket: Duplex): void {
  socket.removeAllListeners("data").on("data", () => {});
}

/**
 * Answers a client that closed its side after its request. A client that is gone looks the same until a
 * write fails, so it gets interim responses until the response begins.
 * @param pendingResponse the response that a connection awaits
 */
export function allowHalfOpen(
  server: Server,
  pendingResponse: (socket: Socket) => ServerResponse | undefined,
): void {
  Object.assign(server, { httpAllowHalfOpen: true });
  server.on("connection", (socket: Socket) => {
    socket.once("end", () => {
      probe();
      const timer = setInterval(probe, PROBE_MS);
      socket.once("close", () => clearInterval(timer));
    });

    function probe(): void {
      const response = pendingResponse(socket);
      if (!response || response.headersSent) return;
      // HTTP/1.0, which proxies speak, has no interim responses.
      if (response.req.httpVersion === "1.0") socket.destroy();
      else response.writeProcessing();
    }
  });
}
