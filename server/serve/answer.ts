import type { ServerResponse } from "node:http";
import type { EngineModel } from "../../protocol/engine.ts";
import { type ErrorCode, KitError, isKitError } from "../../protocol/error.ts";
import type { InferResult } from "../../protocol/infer.ts";
import { stringifyJson } from "../../protocol/json.ts";
import { JSON_TYPE, closeSignal, disableTimeout, sendText } from "../http/respond.ts";
import type { RequestContext } from "../http/router.ts";
import { targetOf } from "../http/target.ts";
import { type AnswerFormat, createHead, tokensOf } from "./answerFormat.ts";
import { ApiError, sendApiError } from "./apiError.ts";
import type { ServeContext } from "./context.ts";
import { type EventStream, createEventStream } from "./eventStream.ts";
import type { Body } from "./fields.ts";
import { readJsonBody } from "./jsonBody.ts";
import type { ParsedRequest } from "./parsedRequest.ts";
import type { RequestRecord } from "./requestLog.ts";

const OK = 200;
/** nginx's status for a client that disconnected. */
const CLIENT_GONE = 499;

/** Errors after which the engine must be reopened. */
const FATAL = new Set<ErrorCode>(["WORKER_FAILED", "OUT_OF_MEMORY"]);

/** Creates a route that parses requests with `read` and answers in a format. */
export function createCompletionRoute(read: (body: Body) => ParsedRequest, format: AnswerFormat) {
  return async (context: ServeContext, { request, response }: RequestContext): Promise<void> => {
    const arrivedAt = performance.now();
    const record: RequestRecord = {
      request: String(response.getHeader("x-request-id")),
      time: new Date().toISOString(),
      path: targetOf(request).path,
      status: OK,
    };
    const signal = closeSignal(response);
    const stream: { open?: EventStream } = {};
    let parsed: ParsedRequest | undefined;
    try {
      const body = await readJsonBody(context.bodies, request, response);
      if (body) await answer((parsed = read(body)));
    } catch (error) {
      // The client disconnected, which stopped the engine.
      if (signal.aborted) return;
      const problem = asApiError(error, context, parsed);
      record.status = problem.status;
      if (problem.details.code !== undefined) record.code = problem.details.code;
      // The status is already sent, so an event carries the error.
      if (stream.open) stream.open.fail(problem);
      else if (!response.destroyed) sendApiError(response, problem);
    } finally {
      if (isGone(response)) record.status = CLIENT_GONE;
      context.onRequest(record);
    }

    async function answer(parsed: ParsedRequest): Promise<void> {
      const acquiring = context.models.acquire(parsed.model);
      if (!acquiring) throw unknownModel(parsed.model);
      disableTimeout(response);
      const { served, model, release, invalidate } = await acquiring;
      record.model = served.id;
      try {
        const releaseSlot = await context.slots.acquire(served, signal);
        const head = createHead(format, served.id);
        const frames = format.frames(head, parsed);
        const startedAt = performance.now();
        const times = { first: 0 };
        const openStream = () => (stream.open ??= createEventStream(response, frames));
        const results: InferResult[] = [];
        try {
          const isChecked = await checkRequests(model, parsed, signal);
          if (isChecked && parsed.isStreamed) openStream();
          for (const request of parsed.requests) {
            signal.throwIfAborted();
            let hasStreamed = false;
            const result = await model.infer({ ...request, signal }, (delta) => {
              times.first ||= performance.now();
              hasStreamed = true;
              if (parsed.isStreamed) openStream().push(delta);
            });
            results.push(result);
            if (!parsed.isStreamed) continue;
            // An engine may report only the whole answer.
            if (!hasStreamed) openStream().push(result);
            openStream().endChoice(result);
          }
        } catch (error) {
          // The next request reopens the model.
          if (isKitError(error) && FATAL.has(error.code)) invalidate();
          throw error;
        } finally {
          releaseSlot();
        }
        const ended = performance.now();
        const { promptTokens, tokens } = tokensOf(results);
        const first = times.first || ended;
        Object.assign(record, { promptTokens, tokens, firstMs: first - arrivedAt });
        if (tokens > 0) record.tokensPerSecond = (tokens / (ended - startedAt)) * 1000;
        if (!parsed.isStreamed) {
          // A response must repeat the request's numbers exactly.
          const text = stringifyJson(format.whole(head, results, parsed)) ?? "";
          return sendText(response, 200, JSON_TYPE, text);
        }
        openStream().end(results);
      } finally {
        release();
      }
    }
  };
}

/**
 * Checks a list of prompts before answering any, and a request before its stream begins.
 * @returns whether it could
 */
async function checkRequests(
  { check }: EngineModel,
  { requests, isStreamed }: ParsedRequest,
  signal: AbortSignal,
): Promise<boolean> {
  const isList = requests.length > 1;
  if (!check || (!isList && !isStreamed)) return false;
  for (const [at, request] of requests.entries()) {
    await check({ ...request, signal }).catch((error: unknown) => {
      if (!isList || !isKitError(error) || error.fault?.option !== "prompt") throw error;
      const option = `prompt[${at}]`;
      const fault = { ...error.fault, option };
      throw new KitError(error.code, `${option}: ${error.message}`, { cause: error, fault });
    });
  }
  return true;
}

/** Whether the client disconnected before the end of the response. */
function isGone(response: ServerResponse): boolean {
  return response.destroyed && !response.writableFinished;
}

function unknownModel(name: string): ApiError {
  const excerpt = name.length > 100 ? `${name.slice(0, 100)}…` : name;
  const message = `The model ${JSON.stringify(excerpt)} does not exist. Choose a name that GET /v1/models lists.`;
  return new ApiError(404, message, { param: "model", code: "model_not_found" });
}

/** The part of an error that a client may see. */
function asApiError(
  error: unknown,
  { isClosing, onError }: ServeContext,
  parsed: ParsedRequest | undefined,
): ApiError {
  if (error instanceof ApiError) return error;
  if (isKitError(error) && REQUEST_ERRORS.has(error.code))
    return requestError(error, parsed?.names);
  if (isClosing()) return closing();
  // The message may name a path.
  onError(error);
  const message = "The model could not answer. See the output of kit serve for the reason.";
  return new ApiError(500, message);
}

/** Codes of invalid requests; `DATASET_INVALID` is about the conversation. */
const REQUEST_ERRORS = new Set<ErrorCode>(["REQUEST_INVALID", "DATASET_INVALID"]);

/** @param names the request's field names by `infer` option */
function requestError({ message, fault }: KitError, names: ParsedRequest["names"] = {}): ApiError {
  const { option = "" } = fault ?? {};
  const isPrefix = (name: string) =>
    option.startsWith(name) && /^$|^[.[]/.test(option.slice(name.length));
  const prefixes = Object.keys(names).filter(isPrefix);
  const [name = ""] = prefixes.toSorted((a, b) => b.length - a.length);
  const field = names[name] ?? "";
  // The message may begin with the option's name, and name an element of a list.
  const text = message.replace(/^[\w.]+(?=: )|\w+\[\d+\]/g, (path) =>
    Object.hasOwn(names, path) ? (names[path] ?? path) : path,
  );
  return new ApiError(400, text, {
    ...(fault && { param: field + option.slice(name.length) }),
    ...(fault?.isTooLong && { code: "context_length_exceeded" }),
  });
}

export function closing(): ApiError {
  const message = "The server is shutting down. Try again in a moment.";
  return new ApiError(503, message, { retryAfterS: 1 });
}
