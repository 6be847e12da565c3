import type { ChatMessage, TemplateKwargs } from "../../protocol/chat.ts";
import { faultOfKwargs } from "../../protocol/chatFaults.ts";
import type { InferRequest } from "../../protocol/infer.ts";
import { isRecord, omitUndefined } from "../../protocol/isRecord.ts";
import type { AnswerConstraint } from "./answerConstraint.ts";
import { invalid } from "./apiError.ts";
import { type Body, booleanOf, fieldOf } from "./fields.ts";
import type { ParsedRequest } from "./parsedRequest.ts";
import { samplingOf } from "./sampling.ts";
import type { ToolOptions } from "./toolOptions.ts";

const KWARGS = "chat_template_kwargs";
const EFFORT = "reasoning_effort";

/** Parts of a request for which each API has its own fields. */
export interface ConversationParts {
  messages: ChatMessage[];
  calls: ToolOptions;
  answer: AnswerConstraint;
  /** Alternatives of each token; undefined for no logprobs. */
  logprobs: number | undefined;
  effort: unknown;
  effortField: string;
  /** Further field names by `infer` option. */
  names?: Record<string, string>;
}

/** @throws ApiError 400 naming the invalid field */
export function conversationRequest(
  body: Body,
  { messages, calls, answer, logprobs, effort, effortField, names }: ConversationParts,
): Pick<ParsedRequest, "requests" | "names"> {
  const { tools, toolChoice } = calls;
  const { constraint } = answer;
  if (constraint && (toolChoice === "required" || typeof toolChoice === "object")) {
    const [field = ""] = Object.values(answer.names)[0]?.split(".") ?? [];
    throw invalid("tool_choice", `Send ${field} or a tool_choice that requires a call, not both.`);
  }
  const chatTemplateKwargs = kwargsOf(body, effort, effortField);
  const request: InferRequest = {
    messages,
    ...samplingOf(body),
    ...omitUndefined({ tools, toolChoice }),
    ...(!allowsParallelCalls(body) && { parallelToolCalls: false }),
    ...constraint,
    ...omitUndefined({ logprobs, chatTemplateKwargs }),
  };
  return {
    names: {
      toolChoice: "tool_choice",
      chatTemplateKwargs: KWARGS,
      ...names,
      ...answer.names,
      ...calls.names,
    },
    requests: [request],
  };
}

function kwargsOf(body: Body, effort: unknown, field: string): TemplateKwargs | undefined {
  const kwargs = fieldOf(body, KWARGS);
  const [problem, path] = faultOfKwargs(kwargs) ?? [];
  if (problem !== undefined) throw invalid(KWARGS + path, `${KWARGS} ${problem}.`);
  if (effort === undefined) return kwargs as TemplateKwargs | undefined;
  if (typeof effort !== "string") throw invalid(field, `${field} must be a string.`);
  if (isRecord(kwargs) && Object.hasOwn(kwargs, EFFORT)) {
    throw invalid(field, `Send ${field} or ${KWARGS}.${EFFORT}, not both.`);
  }
  // Qwen's templates have this variable.
  const thinking = effort === "none" && { enable_thinking: false };
  return { [EFFORT]: effort, ...thinking, ...(kwargs as TemplateKwargs | undefined) };
}

/** Default true, as in OpenAI's API. */
function allowsParallelCalls(body: Body): boolean {
  return (
    fieldOf(body, "parallel_tool_calls") === undefined || booleanOf(body, "parallel_tool_calls")
  );
}
