import { type Server, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { SECURITY_HEADERS } from "../headers.ts";

const MALFORMED = 400;

/** By Node's code of the error. */
const STATUSES: Record<string, number> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_HEADER_OVERFLOW: 431,
};

const SENTENCES: Record<number, string> = {
  [MALFORMED]: "This is no HTTP request that can be understood. Open the page at / with http.",
  405: "There is no tunnel here. Open the page at /.",
  408: "The request did not come in time. Send it again, at once.",
  431: "The request's head is too long. If a browser sent it, delete its cookies for this name.",
};

/**
 * Answers on the bare socket what never becomes a request.
 * @param isAnswering whether a request on this connection waits for its answer, for which ours would be taken
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
  // The client may go away meanwhile.
  socket.on("error", () => undefined);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}\r\n${body}`, () =>
    socket.destroy(),
  );
}
