import type { InferRequest } from "../../protocol/infer.ts";
import { invalid } from "./apiError.ts";
import { type Body, booleanOf, fieldOf, recordOf } from "./fields.ts";
import { refuseUnsupported } from "./unsupported.ts";

export interface ParsedRequest {
  model: string;
  /** One per choice, in order. */
  requests: readonly InferRequest[];
  isStreamed: boolean;
  /** The request's field names by `infer` option, where they differ. */
  names: Record<string, string>;
  /** Whether a stream ends with token counts. */
  includesUsage: boolean;
  /** Settings that the answer repeats. */
  settings?: object;
}

/**
 * Reads which model answers and how to send the answer.
 * @throws ApiError 400 for an invalid or unsupported field
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
