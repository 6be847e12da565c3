import {
  type ChatMessage,
  type Tool,
  asTools,
  problemOfMessage,
  problemOfTools,
} from "../../protocol/chat.ts";
import type { InferRequest, JsonSchema, ToolChoice } from "../../protocol/infer.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { invalid } from "./apiError.ts";
import { type Asked, deliveryOf } from "./asked.ts";
import {
  type Body,
  type NumberRange,
  booleanOf,
  fieldOf,
  notSupported,
  numberOf,
  recordOf,
  refuseUnlessNeutral,
} from "./fields.ts";
import { defined, samplingOf } from "./sampling.ts";

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
  for (const name of ["functions", "function_call"]) {
    refuseUnlessNeutral(body, name, () => false, "Send tools and tool_choice instead.");
  }
  refuseUnlessNeutral(body, "modalities", isTextAlone, 'Leave it out, or send ["text"].');
  refuseUnlessNeutral(body, "audio", () => false, "Send none: answers are texts.");
  const tools = toolsOf(body);
  const request: InferRequest = {
    messages: messagesOf(body),
    ...samplingOf(body),
    ...defined({ tools, toolChoice: toolChoiceOf(body, tools) }),
    ...(!allowsMoreCalls(body) && { parallelToolCalls: false }),
    ...defined({ schema: schemaOf(body), logprobs: logprobsOf(body) }),
  };
  return { ...delivery, requests: [request] };
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

function toolsOf(body: Body): readonly Tool[] | undefined {
  const tools = fieldOf(body, "tools");
  const problem = problemOfTools({ tools });
  if (problem !== undefined) throw invalid("tools", `${problem}. Send OpenAI's form of a tool.`);
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

/** What `response_format` asks an answer to be. */
function schemaOf(body: Body): JsonSchema | undefined {
  const format = recordOf(body, "response_format");
  switch (format && fieldOf(format, "type")) {
    case undefined:
      if (!format) return undefined;
      break;
    case "text":
      return undefined;
    case "json_object":
      return { type: "object" };
    case "json_schema": {
      const described = format && recordOf(format, "json_schema", "response_format.");
      const schema = described && fieldOf(described, "schema");
      if (isRecord(schema) || typeof schema === "boolean") return schema;
      throw invalid(
        "response_format",
        "response_format.json_schema.schema must be a JSON Schema. Send it.",
      );
    }
    default:
  }
  throw notSupported("response_format", "Send its type as text, json_object or json_schema.");
}

function logprobsOf(body: Body): number | undefined {
  const isAsked = booleanOf(body, "logprobs");
  const top = numberOf(body, "top_logprobs", TOP);
  if (top !== undefined && !isAsked) {
    throw invalid("top_logprobs", "Send top_logprobs only with logprobs: true.");
  }
  return isAsked ? (top ?? 0) : undefined;
}

function isTextAlone(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => each === "text");
}
