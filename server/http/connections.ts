import { type RequestListener, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type Site, SECURITY_HEADERS, errorBody } from "./respond.ts";

const MALFORMED = 400;

/** Browsers never pipeline, and each waiting request takes memory. */
const MOST_WAITING = 32;

/** How often such a client is written to, in ms: the second time tells that it is gone. */
const PROBE_MS = 250;

/** By Node's error code. */
const STATUSES: Record<string, number> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_HEADER_OVERFLOW: 431,
};

function sentenceOf(status: number, { advice }: Site): string {
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
 * Answers malformed and late requests, which never reach the request handler whole, on the bare socket.
 * @param answeringOn what a connection awaits; the answer to a whole request would be taken for this one
 */
export function answerClientErrors(
  server: Server,
  site: Site,
  answeringOn: (socket: Duplex) => ServerResponse | undefined,
): void {
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    const answering = answeringOn(socket);
    const isAnothers = answering && (answering.headersSent || answering.req.complete);
    if (!socket.writable || isAnothers) socket.destroy();
    else answer(socket, STATUSES[error.code ?? ""] ?? MALFORMED, site);
  });
  server.on("connect", (_, socket) => answer(socket, 405, site));
}

function answer(socket: Duplex, status: number, site: Site): void {
  const body = JSON.stringify(errorBody(status, sentenceOf(status, site), site));
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
 * Answers the requests of a connection one after the other. Node would start all of them at once,
 * and emit no "close" on those in the queue when their client disconnects.
 * @param refuse answers the first request over the limit, and ends the connection
 */
export function inTurn(answer: RequestListener, refuse: RequestListener): RequestListener {
  const waiting = new WeakMap<Socket, number>();
  return (request, response) => {
    const { socket } = request;
    if (response.socket) return answer(request, response);
    const ahead = waiting.get(socket) ?? 0;
    waiting.set(socket, ahead + 1);
    if (ahead > MOST_WAITING) return;
    if (ahead === MOST_WAITING) stopReading(socket);
    response.once("socket", () => {
      waiting.set(socket, (waiting.get(socket) ?? 1) - 1);
      (ahead < MOST_WAITING ? answer : refuse)(request, response);
    });
  };
}

/** Drops all that comes, so that its end is seen. What has been read, 64 KiB at most, is still parsed. */
function stopReading(socket: Socket): void {
  socket.removeAllListeners("data").on("data", () => {});
}

/**
 * Lets a client that has closed its side behind its request get its answer. One that is gone looks alike until it is
 * written to: it gets an interim response until its answer begins.
 * @param answeringOn what a connection awaits
 */
export function answerHalfClosed(
  server: Server,
  answeringOn: (socket: Socket) => ServerResponse | undefined,
): void {
  Object.assign(server, { httpAllowHalfOpen: true });
  server.on("connection", (socket: Socket) => {
    socket.once("end", () => {
      probe();
      const timer = setInterval(probe, PROBE_MS);
      socket.once("close", () => clearInterval(timer));
    });

    function probe(): void {
      const response = answeringOn(socket);
      if (!response || response.headersSent) return;
      // HTTP/1.0, which proxies speak, has no interim responses.
      if (response.req.httpVersion === "1.0") socket.destroy();
      else response.writeProcessing();
    }
  });
}
