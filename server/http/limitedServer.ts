import { once } from "node:events";
import { type RequestListener, type Server, type ServerResponse, createServer } from "node:http";
import { messageOf } from "../../protocol/error.ts";
import { answerClientErrors } from "./clientErrors.ts";
import { setSecurityHeaders } from "./headers.ts";
import { inTurn } from "./inTurn.ts";
import { type ConnectionLimit, type Limits, refuseForNow } from "./limits.ts";
import { sendError } from "./respond.ts";

export interface LimitedServer {
  server: Server;
  /** Resolves when every request in progress has its answer. */
  allAnswered: () => Promise<void>;
}

/** A server, not yet listening, that no client can exhaust or crash. */
export function createLimitedServer(
  limits: Limits,
  connections: ConnectionLimit,
  answer: (...exchange: Parameters<RequestListener>) => Promise<void>,
): LimitedServer {
  const unanswered = new Set<ServerResponse>();

  const onTurn: RequestListener = (request, response) => {
    unanswered.add(response);
    response.once("close", () => unanswered.delete(response));
    setSecurityHeaders(response);
    if (connections.isTooMany(request.socket)) {
      response.setHeader("Connection", "close");
      return refuseForNow(response, `${limits.connections} connections are open.`);
    }
    answer(request, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else sendError(response, 500, messageOf(error));
    });
  };

  const onRequest = inTurn(onTurn, (_, response) => {
    setSecurityHeaders(response);
    response.setHeader("Connection", "close");
    sendError(response, 429, "Too many requests at once. Wait for their answers, then send more.");
  });

  const server = createServer(
    {
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      keepAliveTimeout: limits.idleMs,
      connectionsCheckingInterval: limits.checkMs,
      // The guard checks it, and says what is wrong.
      requireHostHeader: false,
    },
    onRequest,
  );
  // A dropped header could be the one that reveals another site. Their size is limited instead.
  server.maxHeadersCount = 0;
  server.timeout = limits.stalledMs;
  // With `Expect`, the client sends its body only after our answer. No route needs a body.
  server.on("checkContinue", onRequest).on("checkExpectation", onRequest);
  connections.watch(server);
  answerClientErrors(server, (socket) =>
    [...unanswered].some((response) => response.socket === socket),
  );

  return {
    server,
    async allAnswered() {
      await Promise.allSettled([...unanswered].map((response) => once(response, "close")));
    },
  };
}
