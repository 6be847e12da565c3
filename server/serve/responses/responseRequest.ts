import { answerConstraint, formatIn } from "../answerConstraint.ts";
import { invalid } from "../apiError.ts";
import { TOP_LOGPROBS_RANGE } from "../chatRequest.ts";
import { conversationRequest } from "../conversationRequest.ts";
import { type Body, fieldOf, numberOf, pathIn, recordOf } from "../fields.ts";
import { metadataOf } from "../metadata.ts";
import { type ParsedRequest, deliveryOptions } from "../parsedRequest.ts";
import { type ToolOptions, toolOptions } from "../toolOptions.ts";
import { functionTools } from "./functionTools.ts";
import { inputMessages } from "./inputMessages.ts";
import { refuseForeign } from "./refuseForeign.ts";

const ID_FIELDS = ["user", "safety_identifier", "prompt_cache_key"];
const LOGPROBS = "message.output_text.logprobs";

/**
 * Parses the body of a response request.
 * @throws ApiError 400 naming the invalid field
 */
export function responseRequest(body: Body): ParsedRequest {
  refuseForeign(body);
  const delivery = deliveryOptions(body);
  const reasoning = recordOf(body, "reasoning") ?? {};
  const tools = functionTools(body);
  const calls = toolOptions(body, tools, "");
  const { messages, names } = inputMessages(body);
  const conversation = conversationRequest(body, {
    messages,
    calls,
    answer: answerConstraint(body, { text: textFormat }),
    logprobs: logprobsOf(body),
    effort: fieldOf(reasoning, "effort"),
    effortField: "reasoning.effort",
    names: { ...names, ...functionNames(calls) },
  });
  return {
    ...delivery,
    ...conversation,
    settings: settingsOf(body, reasoning, { ...calls, tools }),
  };
}

function textFormat(body: Body, field: string) {
  const text = recordOf(body, field) ?? {};
  return fieldOf(text, "format") === undefined ? undefined : formatIn(text, "format", `${field}.`);
}

/** In this API, a function's fields are beside its type, not in `function`. */
function functionNames({ tools = [], names = {} }: ReturnType<typeof toolOptions>) {
  const fields = tools.map((_, at) => `tools[${at}]`);
  return Object.fromEntries(fields.map((field) => [`${field}.function`, names[field] ?? field]));
}

function logprobsOf(body: Body): number | undefined {
  const included = fieldOf(body, "include") ?? [];
  const isText = (item: unknown) => typeof item === "string";
  if (!Array.isArray(included) || !included.every(isText)) {
    throw invalid(pathIn("include", included, isText), "include must be a list of strings.");
  }
  const top = numberOf(body, "top_logprobs", TOP_LOGPROBS_RANGE);
  return included.includes(LOGPROBS) ? (top ?? 0) : top || undefined;
}

function idOf(body: Body, name: string): string | undefined {
  const id = fieldOf(body, name);
  if (id === undefined || typeof id === "string") return id;
  throw invalid(name, `${name} must be a string.`);
}

/** The request's settings, with defaults, which its response repeats. */
function settingsOf(body: Body, reasoning: Body, { tools, toolChoice }: ToolOptions): object {
  // Arguments follow their schema only in a call that the request requires.
  const strict = toolChoice === "required" || typeof toolChoice === "object";
  return {
    background: false,
    instructions: fieldOf(body, "instructions") ?? null,
    max_output_tokens: fieldOf(body, "max_output_tokens") ?? null,
    metadata: metadataOf(body) ?? {},
    parallel_tool_calls: fieldOf(body, "parallel_tool_calls") ?? true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null, ...reasoning },
    service_tier: "default",
    store: false,
    temperature: fieldOf(body, "temperature") ?? 0,
    text: { format: { type: "text" }, ...recordOf(body, "text") },
    tool_choice: fieldOf(body, "tool_choice") ?? "auto",
    tools: (tools ?? []).map(({ function: { parameters, ...described } }) => ({
      type: "function",
      ...described,
      parameters: parameters ?? null,
      strict,
    })),
    top_logprobs: fieldOf(body, "top_logprobs") ?? 0,
    top_p: fieldOf(body, "top_p") ?? 1,
    truncation: "disabled",
    ...Object.fromEntries(ID_FIELDS.map((name) => [name, idOf(body, name)])),
  };
}
