import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { createBodyReader } from "../http/body.ts";
import { type Limits } from "../http/limits.ts";
import { listen } from "../http/listen.ts";
import { createRouter } from "../http/router.ts";
import { createHttpServer } from "../http/server.ts";
import { targetOf } from "../http/target.ts";
import { closing } from "./answer.ts";
import { ApiError, IDENTITY, sendApiError } from "./apiError.ts";
import type { ServeContext } from "./context.ts";
import { type FineTuningOptions, createFineTuning } from "./fineTuning/fineTuning.ts";
import { isUpload } from "./fineTuning/upload.ts";
import { createKeyAuth } from "./keyAuth.ts";
import type { ModelPool } from "./modelPool.ts";
import type { RequestRecord } from "./requestLog.ts";
import { ROUTE_TABLE } from "./routes.ts";
import { createSlots } from "./slots.ts";

/** How long models may take to close, in ms. */
const CLOSE_MS = 2_000;
const BODY_LIMITS = { bodyBytes: 1024 * 1024, bodiesBytes: 64 * 1024 * 1024 };

export interface ServeOptions {
  host: string;
  /** 0: any free one. */
  port: number;
  /** Key that every request but `GET /health` must send. Default: none. */
  key?: string | undefined;
  /** Accepted host names besides this machine's own. */
  allowedHosts?: string[] | undefined;
  /** Origins whose pages may call it. Default: none. */
  allowedOrigins?: string[] | undefined;
  /** Limit of queued requests. */
  maxWaiting: number;
  models: ModelPool;
  onRequest: (record: RequestRecord) => void;
  /** Called with errors that clients do not see. */
  onError: (error: unknown) => void;
  /** Accepts files from callers, and fine-tunes models for them. Default: off. */
  fineTuning?: FineTuningOptions | undefined;
  /** Overrides the limits. For tests. */
  limits?: Partial<Limits> | undefined;
}

export interface ServeServer {
  port: number;
  /** Starts serving; until then, requests get a 503. */
  setReady: () => Promise<void>;
  /**
   * Stops accepting requests, and resolves when the open ones are answered or cut off. Idempotent.
   * @param limitMs how long open requests may take
   */
  close: (limitMs: number) => Promise<void>;
  /** Cuts off the requests that `close` waits for. */
  abort: () => void;
}

/** Starts the backend of `kit serve`. Resolves when it answers requests. */
export async function startServeServer(options: ServeOptions): Promise<ServeServer> {
  const { models, maxWaiting, onRequest, onError, host, port, key } = options;
  const { allowedHosts, allowedOrigins, limits } = options;
  let isReady = false;
  const aborting = new AbortController();
  let closingServer: Promise<void> | undefined;
  const fineTuning = options.fineTuning && createFineTuning(options.fineTuning, onError);
  const context: ServeContext = {
    models,
    fineTuning,
    onRequest,
    onError,
    slots: createSlots(maxWaiting),
    bodies: createBodyReader(BODY_LIMITS),
    isReady: () => isReady,
    isClosing: () => closingServer !== undefined,
  };
  const route = createRouter(ROUTE_TABLE, IDENTITY);
  const { server, allAnswered } = createHttpServer({
    identity: IDENTITY,
    ...(fineTuning && { isLong: isUpload }),
    host,
    allowedHosts,
    allowedOrigins,
    limits,
    allowsHalfOpen: true,
    auth: key === undefined ? undefined : (trust) => createKeyAuth(key, trust),
    prepare: (response) =>
      response.setHeader("x-request-id", `req_${randomUUID().replaceAll("-", "")}`),
    async answer(exchange) {
      const { request, response } = exchange;
      const isAnswer = targetOf(request).path !== "/health";
      if (context.isClosing()) response.setHeader("Connection", "close");
      if (isAnswer && (context.isClosing() || !isReady)) {
        request.resume();
        return sendApiError(response, context.isClosing() ? closing() : loading());
      }
      await route(context, exchange);
    },
  });
  const listening = await listen(server, { host, port });

  async function end(limitMs: number): Promise<void> {
    listening.stop();
    fineTuning?.trainingRuns.close();
    const { signal } = aborting;
    await Promise.race([
      allAnswered(),
      delay(limitMs, undefined, { signal, ref: false }).catch(() => undefined),
    ]);
    await listening.close();
    // An engine that hangs must not keep the process alive.
    await Promise.race([models.close(), delay(CLOSE_MS, undefined, { ref: false })]);
  }

  return {
    port: listening.port,
    async setReady() {
      await fineTuning?.trainingRuns.start();
      isReady = true;
    },
    close(limitMs) {
      closingServer ??= end(limitMs);
      return closingServer;
    },
    abort: () => aborting.abort(),
  };
}

function loading(): ApiError {
  const message = "The model is being loaded. Try again in a moment.";
  return new ApiError(503, message, { retryAfterS: 1 });
}
