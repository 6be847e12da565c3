import {
  type ChatMessage,
  type TemplateKwargs,
  type Tool,
  asTools,
  problemOfKwargs,
  problemOfMessage,
  problemOfTools,
} from "../../protocol/chat.ts";
import type { InferRequest, ToolChoice } from "../../protocol/infer.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { invalid } from "./apiError.ts";
import { type Asked, deliveryOf } from "./asked.ts";
import { type Body, type NumberRange, booleanOf, fieldOf, numberOf } from "./fields.ts";
import { heldAnswer } from "./heldAnswer.ts";
import { defined, samplingOf } from "./sampling.ts";

const KWARGS = "chat_template_kwargs";
const MOST_TOP = 20;
const TOP: NumberRange = {
  expected: `a whole number from 0 to ${MOST_TOP}`,
  holds: (value) => Number.isInteger(value) && value >= 0 && value <= MOST_TOP,
};

/**
 * Reads the body of a chat completion.
 * @throws ApiError 400 naming the field that is wrong
 */
export function chatRequest(body: Body): Asked {
  const delivery = deliveryOf(body);
  const tools = toolsOf(body);
  const toolChoice = toolChoiceOf(body, tools);
  const { form, names } = heldAnswer(body);
  if (form && (toolChoice === "required" || typeof toolChoice === "object")) {
    const [field = ""] = Object.values(names);
    throw invalid("tool_choice", `Send ${field} or a tool_choice that needs a call, not both.`);
  }
  const request: InferRequest = {
    messages: messagesOf(body),
    ...samplingOf(body),
    ...defined({ tools, toolChoice }),
    ...(!allowsMoreCalls(body) && { parallelToolCalls: false }),
    ...form,
    ...defined({ logprobs: logprobsOf(body), chatTemplateKwargs: kwargsOf(body) }),
  };
  return { ...delivery, names: { ...names, toolChoice: "tool_choice" }, requests: [request] };
}

function messagesOf(body: Body): ChatMessage[] {
  const messages = fieldOf(body, "messages");
  if (!Array.isArray(messages) || messages.length === 0) {
    throw invalid("messages", "messages must be a list of at least one message.");
  }
  for (const [at, message] of messages.entries()) {
    const problem = problemOfMessage(message);
    if (problem !== undefined) throw invalid(`messages[${at}]`, `messages[${at}] ${problem}.`);
  }
  return messages as ChatMessage[];
}

function kwargsOf(body: Body): TemplateKwargs | undefined {
  const kwargs = fieldOf(body, KWARGS);
  const problem = problemOfKwargs(kwargs);
  if (problem !== undefined) throw invalid(KWARGS, `${KWARGS} ${problem}.`);
  return kwargs as TemplateKwargs | undefined;
}

function toolsOf(body: Body): readonly Tool[] | undefined {
  const tools = fieldOf(body, "tools");
  const problem = problemOfTools({ tools });
  if (problem !== undefined) {
    const isWrong = (tool: unknown) => problemOfTools({ tools: [tool] }) !== undefined;
    const at = Array.isArray(tools) ? `[${tools.findIndex(isWrong)}]` : "";
    throw invalid(`tools${at}`, `${problem}. Send OpenAI's form of a tool.`);
  }
  return asTools(tools);
}

function toolChoiceOf(body: Body, tools: readonly Tool[] | undefined): ToolChoice | undefined {
  const choice = fieldOf(body, "tool_choice");
  if (choice === undefined || choice === "auto" || choice === "none") return tools && choice;
  if (choice === "required" && tools) return choice;
  const { type, function: named } = isRecord(choice) ? choice : {};
  const name = type === "function" && isRecord(named) ? named["name"] : undefined;
  if (typeof name === "string" && tools?.some((tool) => tool.function.name === name)) {
    return { name };
  }
  throw invalid(
    "tool_choice",
    'tool_choice must be "auto", "none" or, beside tools, "required" or {"type":"function","function":{"name":"…"}} with the name of one of them.',
  );
}

/** Default: true, as OpenAI's. */
function allowsMoreCalls(body: Body): boolean {
  return (
    fieldOf(body, "parallel_tool_calls") === undefined || booleanOf(body, "parallel_tool_calls")
  );
}

function logprobsOf(body: Body): number | undefined {
  const isAsked = booleanOf(body, "logprobs");
  const top = numberOf(body, "top_logprobs", TOP);
  if (top !== undefined && !isAsked) {
    throw invalid("top_logprobs", "Send top_logprobs only with logprobs: true.");
  }
  return isAsked ? (top ?? 0) : undefined;
}
