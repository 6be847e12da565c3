import { type Server, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { SECURITY_HEADERS } from "./headers.ts";

const MALFORMED = 400;

/** By Node's error code. */
const STATUSES: Record<string, number> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_HEADER_OVERFLOW: 431,
};

const SENTENCES: Record<number, string> = {
  [MALFORMED]: "Malformed HTTP request. Open the page at / with http.",
  405: "This server is not a proxy. Open the page at /.",
  408: "The request took too long to arrive. Send it again.",
  431: "The request's headers are too long. If a browser sent them, delete its cookies for this name.",
};

/**
 * Answers malformed requests, which never reach the request handler, on the bare socket.
 * @param isAnswering whether a request on this connection awaits an answer, and would take this one for it
 */
export function answerClientErrors(server: Server, isAnswering: (socket: Duplex) => boolean): void {
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    if (!socket.writable || isAnswering(socket)) socket.destroy();
    else answer(socket, STATUSES[error.code ?? ""] ?? MALFORMED);
  });
  server.on("connect", (_, socket) => answer(socket, 405));
}

function answer(socket: Duplex, status: number): void {
  const body = JSON.stringify({ error: SENTENCES[status] });
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
