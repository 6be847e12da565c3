import type { ChatMessage, TemplateKwargs } from "../../protocol/chat.ts";
import { faultOfKwargs, faultOfMessage } from "../../protocol/chatFaults.ts";
import type { InferRequest } from "../../protocol/infer.ts";
import { omitUndefined, isRecord } from "../../protocol/isRecord.ts";
import { answerConstraint } from "./answerConstraint.ts";
import { invalid } from "./apiError.ts";
import { type Body, booleanOf, fieldOf, numberOf, upTo } from "./fields.ts";
import { type ParsedRequest, deliveryOptions } from "./parsedRequest.ts";
import { samplingOf } from "./sampling.ts";
import { toolOptions } from "./toolOptions.ts";

const KWARGS = "chat_template_kwargs";
const EFFORT = "reasoning_effort";
/** Field names by `infer` option. */
const NAMES = {
  toolChoice: "tool_choice",
  chatTemplateKwargs: KWARGS,
  [`chatTemplateKwargs.${EFFORT}`]: EFFORT,
};
const TOP = upTo(20);

/**
 * Reads the body of a chat completion.
 * @throws ApiError 400 naming the invalid field
 */
export function chatRequest(body: Body): ParsedRequest {
  const delivery = deliveryOptions(body);
  const { tools, toolChoice, ...calls } = toolOptions(body);
  const { constraint, names } = answerConstraint(body);
  if (constraint && (toolChoice === "required" || typeof toolChoice === "object")) {
    const [field = ""] = Object.values(names)[0]?.split(".") ?? [];
    throw invalid("tool_choice", `Send ${field} or a tool_choice that needs a call, not both.`);
  }
  const request: InferRequest = {
    messages: messagesOf(body),
    ...samplingOf(body),
    ...omitUndefined({ tools, toolChoice }),
    ...(!allowsMoreCalls(body) && { parallelToolCalls: false }),
    ...constraint,
    ...omitUndefined({ logprobs: logprobsOf(body), chatTemplateKwargs: kwargsOf(body) }),
  };
  return { ...delivery, names: { ...NAMES, ...names, ...calls.names }, requests: [request] };
}

function messagesOf(body: Body): ChatMessage[] {
  const messages = fieldOf(body, "messages");
  if (!Array.isArray(messages) || messages.length === 0) {
    throw invalid("messages", "messages must be a list of at least one message.");
  }
  for (const [at, message] of messages.entries()) {
    const [problem, path] = faultOfMessage(message) ?? [];
    if (problem !== undefined) {
      throw invalid(`messages[${at}]${path}`, `messages[${at}] ${problem}.`);
    }
  }
  return messages as ChatMessage[];
}

function kwargsOf(body: Body): TemplateKwargs | undefined {
  const kwargs = fieldOf(body, KWARGS);
  const [problem, path] = faultOfKwargs(kwargs) ?? [];
  if (problem !== undefined) throw invalid(KWARGS + path, `${KWARGS} ${problem}.`);
  const effort = fieldOf(body, EFFORT);
  if (effort === undefined) return kwargs as TemplateKwargs | undefined;
  if (typeof effort !== "string") throw invalid(EFFORT, `${EFFORT} must be a string.`);
  if (isRecord(kwargs) && Object.hasOwn(kwargs, EFFORT)) {
    throw invalid(EFFORT, `Send ${EFFORT} or ${KWARGS}.${EFFORT}, not both.`);
  }
  // Qwen's templates have this variable.
  const thinking = effort === "none" && { enable_thinking: false };
  return { [EFFORT]: effort, ...thinking, ...(kwargs as TemplateKwargs | undefined) };
}

/** Default true, as in OpenAI's API. */
function allowsMoreCalls(body: Body): boolean {
  return (
    fieldOf(body, "parallel_tool_calls") === undefined || booleanOf(body, "parallel_tool_calls")
  );
}

function logprobsOf(body: Body): number | undefined {
  const isRequested = booleanOf(body, "logprobs");
  const top = numberOf(body, "top_logprobs", TOP);
  if (top !== undefined && !isRequested) {
    throw invalid("top_logprobs", "Send top_logprobs only with logprobs: true.");
  }
  return isRequested ? (top ?? 0) : undefined;
}
