import type { RequestContext } from "../../http/router.ts";
import { targetOf } from "../../http/target.ts";
import { ApiError, sendApiError } from "../apiError.ts";
import type { ServeContext, ServeRoute } from "../context.ts";
import type { FineTuning } from "./fineTuning.ts";

type TuningRoute = (
  tuning: FineTuning,
  exchange: RequestContext,
  id: string,
  context: ServeContext,
) => void | Promise<void>;

/** A route of `kit serve --fine-tuning`: turns errors into responses, and logs all but GET. */
export function tuningRoute(handle: TuningRoute): ServeRoute {
  return async (context, exchange, id) => {
    const { request, response } = exchange;
    try {
      if (!context.fineTuning) throw fineTuningIsOff();
      await handle(context.fineTuning, exchange, id, context);
    } catch (error) {
      request.resume();
      const problem = error instanceof ApiError ? error : failure(error);
      // The message may name a path.
      if (problem !== error && !response.destroyed) context.onError(error);
      if (response.headersSent) response.destroy();
      else if (!response.destroyed) sendApiError(response, problem);
    }
    if (request.method === "GET") return;
    context.onRequest({
      request: String(response.getHeader("x-request-id")),
      time: new Date().toISOString(),
      path: targetOf(request).path,
      status: response.destroyed && !response.writableFinished ? CLIENT_GONE : response.statusCode,
    });
  };
}

/** nginx's status for a client that disconnected. */
const CLIENT_GONE = 499;

function fineTuningIsOff(): ApiError {
  return new ApiError(
    404,
    "kit serve takes no files and fine-tuning jobs. Start it with --fine-tuning.",
  );
}

function failure(error: unknown): ApiError {
  const { code, cause } = error as NodeJS.ErrnoException;
  const systemCode = (cause as NodeJS.ErrnoException | undefined)?.code ?? code;
  if (systemCode === "ENOSPC" || systemCode === "EDQUOT") {
    return new ApiError(507, "The server's disk is full. Free disk space there.");
  }
  return new ApiError(500, "The request failed. See the output of kit serve for the reason.");
}
