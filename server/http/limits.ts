import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { sendError } from "../respond.ts";

/** How much, how many and how long, so that nothing that is sent can use up this process. */
export interface Limits {
  /** A browser sends about 1 KiB; cookies of other servers on this machine's name add to it. */
  headerBytes: number;
  /** No route reads a body. This much is let pass, for clients that send an empty object. */
  bodyBytes: number;
  /** The head of a request is small and comes at once. */
  headersMs: number;
  /** A whole request comes within this, however slowly it is sent. */
  requestMs: number;
  /** Longer than a browser's poll of 5 s, so that it keeps its connection. */
  idleMs: number;
  /** A client that takes none of what waits for it is gone, or stuck and may come back. */
  stalledMs: number;
  /** How often slow connections are looked for. */
  checkMs: number;
  /** A browser has six to a server; this is for many people, and keeps file descriptors in reserve. */
  connections: number;
  /** How many of them may belong to clients that have not shown the token, where one is wanted. */
  strangers: number;
  /** Each reads a file for as long as it lasts. Leaves room for what is answered at once. */
  streams: number;
}

export const LIMITS: Limits = {
  headerBytes: 32 * 1024,
  bodyBytes: 64 * 1024,
  headersMs: 10_000,
  requestMs: 30_000,
  idleMs: 15_000,
  stalledMs: 120_000,
  checkMs: 5_000,
  connections: 1_000,
  strangers: 500,
  streams: 600,
};

/** Connections over the limit that are still told so; any more are closed without a word. */
const CONNECTIONS_TOLD = 100;
const RETRY_AFTER_S = 5;

/** Which connections there may be. */
export interface ConnectionLimit {
  /** Counts those of all addresses that the server answers on; `maxConnections` is for one. */
  watch: (server: Server) => void;
  isTooMany: (socket: Socket) => boolean;
  /** Counts a connection as one of a client that has shown the token. */
  trust: (socket: Socket) => void;
}

/**
 * Where a token is wanted, strangers have a part of the connections only. One stranger too many
 * closes the oldest of them, because who sends the token sends it at once, and who only holds
 * connections does not. Addresses say nothing: behind a tunnel all clients have the same.
 */
export function createConnectionLimit(limits: Limits, wantsToken: boolean): ConnectionLimit {
  const tooMany = new WeakSet<Socket>();
  const open = new Set<Socket>();
  /** Oldest first. */
  const strangers = new Set<Socket>();

  function leave(socket: Socket): void {
    open.delete(socket);
    strangers.delete(socket);
  }

  function closeOldest(): void {
    const [oldest] = strangers;
    if (!oldest) return;
    // Its event comes too late for those that connect in the same turn.
    leave(oldest);
    oldest.destroy();
  }

  return {
    watch(server) {
      server.prependListener("connection", (socket: Socket) => {
        open.add(socket);
        socket.once("close", () => leave(socket));
        if (wantsToken) strangers.add(socket);
        if (strangers.size > limits.strangers) closeOldest();
        if (open.size > limits.connections) tooMany.add(socket);
        if (open.size > limits.connections + CONNECTIONS_TOLD) socket.destroy();
      });
    },
    isTooMany: (socket) => tooMany.has(socket),
    trust: (socket) => void strangers.delete(socket),
  };
}

/** Lets a response that goes on for long begin, or answers 429. */
export type StreamLimit = (response: ServerResponse) => boolean;

export function createStreamLimit({ streams }: Limits): StreamLimit {
  let open = 0;
  return (response) => {
    // Gone while it was decided what to answer; it would never close.
    if (response.destroyed) return false;
    if (open >= streams) {
      refuseForNow(response, `${streams} streams are open, which is all there can be.`);
      return false;
    }
    open++;
    response.once("close", () => open--);
    return true;
  };
}

export function refuseForNow(response: ServerResponse, why: string): void {
  response.setHeader("Retry-After", RETRY_AFTER_S);
  sendError(response, 429, `${why} Close some tabs or clients, then try again.`);
}

/** Answers 413 to a body that is long or does not say how long it is. Any is read away. */
export function limitBody(
  request: IncomingMessage,
  response: ServerResponse,
  { bodyBytes }: Limits,
): boolean {
  const { headers } = request;
  // Cut off while it is still being sent, the client would not see the answer.
  request.resume();
  const length = Number(headers["content-length"] ?? 0);
  if (length <= bodyBytes && headers["transfer-encoding"] === undefined) return true;
  sendError(response, 413, "Send no body; no route reads one.");
  return false;
}
