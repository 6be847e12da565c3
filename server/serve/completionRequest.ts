import { omitUndefined } from "../../protocol/isRecord.ts";
import { answerConstraint } from "./answerConstraint.ts";
import { invalid } from "./apiError.ts";
import { type Body, fieldOf, notSupported, numberOf, pathIn, upTo } from "./fields.ts";
import { type ParsedRequest, deliveryOptions } from "./parsedRequest.ts";
import { samplingOf } from "./sampling.ts";

const LOGPROBS_RANGE = upTo(5);
const MAX_PROMPTS = 1000;
/** OpenAI's default. */
const MAX_TOKENS = 16;
/** Fields that only chat completions have. */
const CHAT_FIELDS = [
  "messages",
  "tools",
  "tool_choice",
  "top_logprobs",
  "reasoning_effort",
  "chat_template_kwargs",
];

/**
 * Reads the body of a plain completion.
 * @throws ApiError 400 naming the invalid field
 */
export function completionRequest(body: Body): ParsedRequest {
  const delivery = deliveryOptions(body);
  const foreign = CHAT_FIELDS.find((field) => fieldOf(body, field) !== undefined);
  if (foreign !== undefined) throw notSupported(foreign, "Send it to /v1/chat/completions.");
  const { constraint, names } = answerConstraint(body);
  const logprobs = numberOf(body, "logprobs", LOGPROBS_RANGE);
  const requests = promptsOf(body).map((prompt) => ({
    prompt,
    raw: true,
    maxTokens: MAX_TOKENS,
    ...samplingOf(body),
    ...constraint,
    ...omitUndefined({ logprobs }),
  }));
  return { ...delivery, names, requests };
}

function promptsOf(body: Body): string[] {
  const value = fieldOf(body, "prompt");
  const prompts: unknown[] = Array.isArray(value) ? value : [value];
  const isText = (prompt: unknown) => typeof prompt === "string";
  const isList = prompts.length > 0 && prompts.length <= MAX_PROMPTS;
  if (isList && prompts.every(isText)) return prompts;
  throw invalid(
    pathIn("prompt", value, isText),
    `prompt must be a string, or a list of 1 to ${MAX_PROMPTS} strings. Send texts, not tokens.`,
  );
}
