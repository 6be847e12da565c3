import { type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { SECURITY_HEADERS } from "./headers.ts";
import { errorBody } from "./respond.ts";
import type { Site } from "./site.ts";

const MALFORMED = 400;

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
