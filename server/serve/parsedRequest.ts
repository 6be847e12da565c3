import type { InferRequest } from "../../protocol/infer.ts";
import { invalid } from "./apiError.ts";
import { type Body, booleanOf, fieldOf, recordOf } from "./fields.ts";
import { refuseUnsupported } from "./unsupported.ts";

/** What a request asks for. */
export interface ParsedRequest {
  /** The model's name. */
  model: string;
  /** One for each choice of the answer, in their order. */
  requests: readonly InferRequest[];
  isStreamed: boolean;
  /** The fields of the request by the options of `infer` that they become, where both differ. */
  names: Record<string, string>;
  /** Whether a stream ends with the count of tokens. */
  includesUsage: boolean;
}

/**
 * The fields that say which model answers, and how the answer is sent.
 * @throws ApiError 400 for them, and for fields that ask for what the server does not do
 */
export function deliveryOptions(body: Body): Omit<ParsedRequest, "requests" | "names"> {
  refuseUnsupported(body);
  const model = fieldOf(body, "model");
  if (typeof model !== "string" || model === "") {
    throw invalid("model", "model must be a string. Send a name that GET /v1/models lists.");
  }
  const isStreamed = booleanOf(body, "stream");
  const options = recordOf(body, "stream_options");
  if (options && !isStreamed) {
    throw invalid("stream_options", "Send stream_options only with stream: true.");
  }
  if (options) refuseUnsupported(options, "stream_options.");
  const includesUsage =
    options !== undefined && booleanOf(options, "include_usage", "stream_options.");
  return { model, isStreamed, includesUsage };
}
