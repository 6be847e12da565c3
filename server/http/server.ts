import { once } from "node:events";
import {
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  createServer,
} from "node:http";
import type { Socket } from "node:net";
import { hostname } from "node:os";
import type { Duplex } from "node:stream";
import { messageOf } from "../../protocol/error.ts";
import { LATE_CODE, answerClientErrors, allowHalfOpen, serializeRequests } from "./connections.ts";
import { setCorsHeaders } from "./guard/cors.ts";
import { type Guard, createGuard } from "./guard/guard.ts";
import {
  type ConnectionLimit,
  type Limits,
  LIMITS,
  createConnectionLimit,
  sendTooMany,
} from "./limits.ts";
import { type ServerIdentity, sendError, setSecurityHeaders } from "./respond.ts";
import type { RequestContext } from "./router.ts";

export interface HttpServerOptions {
  identity: ServerIdentity;
  /** The address that it will listen on. */
  host: string;
  /** Accepted host names besides this machine's own. */
  allowedHosts?: string[] | undefined;
  /** Origins whose pages may call it. Default: only its own. */
  allowedOrigins?: string[] | undefined;
  /** Overrides {@link LIMITS}. For tests. */
  limits?: Partial<Limits> | undefined;
  /** Creates the token or key check; omit to require none. It calls `trust` for authenticated connections. */
  auth?: ((trust: ConnectionLimit["trust"]) => Guard) | undefined;
  /** Whether a client may close its side before the response. Default: it then counts as gone. */
  allowsHalfOpen?: boolean | undefined;
  /** Called first for each response, refusals included. */
  prepare?: ((response: ServerResponse) => void) | undefined;
  /** Whether a request's body may take longer than `requestMs`. Its route then limits it. */
  isLong?: ((request: IncomingMessage) => boolean) | undefined;
  answer: (exchange: RequestContext) => Promise<void>;
}

export interface HttpServer {
  server: Server;
  /** Resolves when every open request has its response. */
  allAnswered: () => Promise<void>;
}

/** Creates a server, not yet listening, that resists exhaustion, crashes and cross-site requests. */
export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { identity, host, allowedHosts = [], allowedOrigins = [], auth, prepare, answer } = options;
  const limits = { ...LIMITS, ...options.limits };
  const connections = createConnectionLimit(limits, auth !== undefined);
  const policy = {
    boundTo: host,
    machineName: hostname(),
    addedNames: allowedHosts,
    origins: allowedOrigins,
  };
  const guard = createGuard(policy, identity, auth?.(connections.trust));
  const unanswered = new Set<ServerResponse>();

  async function answerIfAllowed(exchange: RequestContext): Promise<void> {
    if (await guard(exchange.request, exchange.response)) await answer(exchange);
  }

  function setHeaders(request: IncomingMessage, response: ServerResponse): void {
    setSecurityHeaders(response);
    setCorsHeaders(request, response, policy);
    prepare?.(response);
  }

  /** Ends a request whose body arrives too slowly. */
  function limitTime(request: IncomingMessage, response: ServerResponse): void {
    const late = Object.assign(new Error("late"), { code: LATE_CODE });
    const timer = setTimeout(() => {
      if (!request.complete) server.emit("clientError", late, request.socket);
    }, limits.requestMs);
    response.once("close", () => clearTimeout(timer));
  }

  const handle: RequestListener = (request, response) => {
    unanswered.add(response);
    response.once("close", () => unanswered.delete(response));
    if (options.isLong?.(request) === false) limitTime(request, response);
    setHeaders(request, response);
    if (connections.isTooMany(request.socket)) {
      response.setHeader("Connection", "close");
      return sendTooMany(response, `${limits.connections} connections are open.`, identity);
    }
    answerIfAllowed({ request, response }).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else sendError(response, 500, messageOf(error), identity);
    });
  };

  const onRequest = serializeRequests(handle, (request, response) => {
    setHeaders(request, response);
    response.setHeader("Connection", "close");
    const error = "Too many requests at once. Wait for their answers, then send more.";
    sendError(response, 429, error, identity);
  });

  const server = createServer(
    {
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.headersMs,
      // Node's own limit would apply to every request.
      requestTimeout: options.isLong ? 0 : limits.requestMs,
      keepAliveTimeout: limits.idleMs,
      connectionsCheckingInterval: limits.checkMs,
      // The guard checks it, with a clearer message.
      requireHostHeader: false,
    },
    onRequest,
  );
  // Limit only the headers' size: a dropped header could be the one that reveals another site.
  server.maxHeadersCount = 0;
  server.timeout = limits.stalledMs;
  server.on("timeout", (socket: Socket) => {
    // A client that waits for a response has not stalled, whatever the clock says after a sleep.
    const pending = pendingResponse(socket);
    if (!pending?.req.complete || pending.writableLength > 0) socket.destroy();
  });
  // With `Expect`, the client sends its body only after our answer.
  server.on("checkContinue", onRequest).on("checkExpectation", onRequest);
  connections.watch(server);
  const pendingResponse = (socket: Duplex) =>
    [...unanswered].find((response) => response.socket === socket);
  answerClientErrors(server, identity, pendingResponse);
  if (options.allowsHalfOpen) allowHalfOpen(server, pendingResponse);

  return {
    server,
    async allAnswered() {
      await Promise.allSettled([...unanswered].map((response) => once(response, "close")));
    },
  };
}
