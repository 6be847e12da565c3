import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type ServerIdentity, sendError } from "./respond.ts";

/** Limits that keep clients from exhausting this process. */
export interface Limits {
  /** A browser sends about 1 KiB, plus cookies of other servers on the same host name. */
  headerBytes: number;
  /** Headers are small and arrive together. */
  headersMs: number;
  /** For the whole request, body included. */
  requestMs: number;
  /** Longer than the page's poll of 5 s, so that it keeps its connection. */
  idleMs: number;
  /** A client that reads nothing for this long is gone or stuck. */
  stalledMs: number;
  /** How often slow connections are checked. */
  checkMs: number;
  /** A browser opens six. This serves many people, and keeps file descriptors in reserve. */
  connections: number;
  /** Connections for clients that have not sent the token, where one is required. */
  unauthenticated: number;
  /** Each holds a file open. Leaves connections free for short requests. */
  streams: number;
}

export const LIMITS: Limits = {
  headerBytes: 32 * 1024,
  headersMs: 10_000,
  requestMs: 30_000,
  idleMs: 15_000,
  stalledMs: 120_000,
  checkMs: 5_000,
  connections: 1_000,
  unauthenticated: 500,
  streams: 600,
};

/** Connections over the limit that get a 429; the rest are closed. */
const CONNECTIONS_REFUSED = 100;
const RETRY_AFTER_S = 5;

/** Limits the open connections. */
export interface ConnectionLimit {
  /** Counts across all the server's addresses. Node's `maxConnections` counts each separately. */
  watch: (server: Server) => void;
  isTooMany: (socket: Socket) => boolean;
  /** Marks a connection as authenticated. */
  trust: (socket: Socket) => void;
}

/**
 * Where a token is required, unauthenticated clients get only some of the connections. One too many
 * closes the oldest: real clients send the token at once, attackers hold connections open. Addresses
 * can't tell them apart, because clients behind a tunnel share one.
 */
export function createConnectionLimit(limits: Limits, requiresAuth: boolean): ConnectionLimit {
  const tooMany = new WeakSet<Socket>();
  const open = new Set<Socket>();
  /** Oldest first. */
  const unauthenticated = new Set<Socket>();

  function forget(socket: Socket): void {
    open.delete(socket);
    unauthenticated.delete(socket);
  }

  function closeOldest(): void {
    const [oldest] = unauthenticated;
    if (!oldest) return;
    // "close" fires too late for connections that open in the same tick.
    forget(oldest);
    oldest.destroy();
  }

  return {
    watch(server) {
      server.prependListener("connection", (socket: Socket) => {
        open.add(socket);
        socket.once("close", () => forget(socket));
        if (requiresAuth) unauthenticated.add(socket);
        if (unauthenticated.size > limits.unauthenticated) closeOldest();
        if (open.size > limits.connections) tooMany.add(socket);
        if (open.size > limits.connections + CONNECTIONS_REFUSED) socket.destroy();
      });
    },
    isTooMany: (socket) => tooMany.has(socket),
    trust: (socket) => void unauthenticated.delete(socket),
  };
}

/** Admits a stream, or answers 429. */
export type StreamLimit = (response: ServerResponse) => boolean;

export function createStreamLimit({ streams }: Limits): StreamLimit {
  let open = 0;
  return (response) => {
    // "close" never fires for a client that is gone.
    if (response.destroyed) return false;
    if (open >= streams) {
      sendTooMany(response, `${streams} streams are in use, the maximum.`);
      return false;
    }
    open++;
    response.once("close", () => open--);
    return true;
  };
}

export function sendTooMany(
  response: ServerResponse,
  why: string,
  identity?: ServerIdentity,
): void {
  response.setHeader("Retry-After", RETRY_AFTER_S);
  sendError(response, 429, `${why} Close some tabs or clients, then try again.`, identity);
}
