import type {
  Response as ApiResponse,
  ResponseFunctionToolCallItem,
  ResponseOutputMessage,
  ResponseOutputText,
} from "openai/resources/responses/responses";
import type { InferResult } from "../../../protocol/infer.ts";
import { type AnswerHead, createId, unixTime } from "../answerFormat.ts";
import { asTokens, callOf, callsOf } from "../chatFormat.ts";
import type { ParsedRequest } from "../parsedRequest.ts";

/** Clients add `output_text` themselves. */
export type ResponseObject = Omit<ApiResponse, "output_text">;
type State = Pick<ResponseObject, "status" | "output"> &
  Partial<Pick<ResponseObject, "error" | "incomplete_details" | "completed_at" | "usage">>;
/** The request's settings, which its response repeats. */
type Settings = Omit<ResponseObject, "id" | "object" | "created_at" | "model" | keyof State>;
type OutputItem = ResponseOutputMessage | ResponseFunctionToolCallItem;

export function responseOf(
  { id, created, model }: AnswerHead,
  { settings }: ParsedRequest,
  { usage, ...state }: State,
): ResponseObject {
  return {
    id,
    object: "response",
    created_at: created,
    completed_at: null,
    error: null,
    incomplete_details: null,
    ...state,
    model,
    ...(settings as Settings),
    ...(usage && { usage }),
  };
}

export function finalState(result: InferResult, output: OutputItem[]): State {
  const { promptTokens, tokens, cachedTokens = 0 } = result;
  const status = statusOf(result);
  return {
    status,
    output,
    ...(status === "completed"
      ? { completed_at: unixTime() }
      : { incomplete_details: { reason: "max_output_tokens" } }),
    usage: {
      input_tokens: promptTokens,
      input_tokens_details: { cached_tokens: cachedTokens, cache_write_tokens: 0 },
      output_tokens: tokens,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: promptTokens + tokens,
    },
  };
}

export function statusOf({ finishReason }: InferResult): "completed" | "incomplete" {
  return finishReason === "length" ? "incomplete" : "completed";
}

/** Whether an answer has a message: text, or no calls. */
export function hasMessage(result: InferResult): boolean {
  return result.text !== "" || callsOf(result).length === 0;
}

export function messageItem(
  id: string,
  status: ResponseOutputMessage["status"],
  content: ResponseOutputText[],
): ResponseOutputMessage {
  return { id, type: "message", status, role: "assistant", content };
}

export function textPart(text = "", logprobs: InferResult["logprobs"] = []): ResponseOutputText {
  return { type: "output_text", text, annotations: [], logprobs: asTokens(logprobs) };
}

export function callItems(result: InferResult): ResponseFunctionToolCallItem[] {
  return callsOf(result).map((call) => {
    const { id, function: called } = callOf(call);
    const status = call === result.truncatedCall ? "incomplete" : "completed";
    return { id: createId("fc_"), type: "function_call", status, call_id: id, ...called };
  });
}
