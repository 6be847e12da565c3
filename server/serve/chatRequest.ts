import type { ChatMessage } from "../../protocol/chat.ts";
import { faultOfMessage } from "../../protocol/chatFaults.ts";
import { answerConstraint } from "./answerConstraint.ts";
import { invalid } from "./apiError.ts";
import { conversationRequest } from "./conversationRequest.ts";
import { type Body, booleanOf, fieldOf, numberOf, upTo } from "./fields.ts";
import { type ParsedRequest, deliveryOptions } from "./parsedRequest.ts";
import { toolOptions, toolsOf } from "./toolOptions.ts";

export const TOP_LOGPROBS_RANGE = upTo(20);

/**
 * Reads the body of a chat completion.
 * @throws ApiError 400 naming the invalid field
 */
export function chatRequest(body: Body): ParsedRequest {
  return {
    ...deliveryOptions(body),
    ...conversationRequest(body, {
      calls: toolOptions(body, toolsOf(body), "function."),
      answer: answerConstraint(body),
      messages: messagesOf(body),
      logprobs: logprobsOf(body),
      effort: fieldOf(body, "reasoning_effort"),
      effortField: "reasoning_effort",
    }),
  };
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

function logprobsOf(body: Body): number | undefined {
  const isRequested = booleanOf(body, "logprobs");
  const top = numberOf(body, "top_logprobs", TOP_LOGPROBS_RANGE);
  if (top !== undefined && !isRequested) {
    throw invalid("top_logprobs", "Send top_logprobs only with logprobs: true.");
  }
  return isRequested ? (top ?? 0) : undefined;
}
