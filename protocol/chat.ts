import { isRecord } from "./isRecord.ts";
import { parseJson } from "./json.ts";
import { isMarkedUnlearned } from "./learnedMarks.ts";

/** A part of a message's content. */
export interface TextPart {
  /** The only kind that Kit reads. */
  type: "text";
  /** The text. */
  text: string;
}

/** The assistant's call of a tool. */
export interface ToolCall {
  /** Links the tool's result to the call. Default: none. */
  id?: string;
  /** Default: `function`, the only kind. */
  type?: "function";
  /** The called function. */
  function: {
    /** The tool's name. */
    name: string;
    /** JSON, as OpenAI writes it, or the object itself. */
    arguments: string | Record<string, unknown>;
  };
}

/** A tool that the assistant may call, as OpenAI describes it. */
export interface Tool {
  /** The only kind. */
  type: "function";
  /** The function that the model sees. */
  function: {
    /** The function's name. */
    name: string;
    /** What it does. Default: none. */
    description?: string;
    /** A JSON schema. Default: none. */
    parameters?: Record<string, unknown>;
    /** Passed on unchanged. Default: none. */
    strict?: boolean;
  };
}

/** A message of a conversation, as OpenAI's API takes it. */
export interface ChatMessage {
  /** The speaker. Templates that don't know `developer` get `system`. */
  role: "system" | "developer" | "user" | "assistant" | "tool";
  /** The text; may be empty. Default: none, allowed only beside `tool_calls`. */
  // eslint-disable-next-line no-restricted-syntax -- As OpenAI writes it.
  content?: string | null | readonly TextPart[];
  /** Distinguishes speakers of one role. Default: none. */
  name?: string;
  /** The assistant's tool calls. Default: none. */
  tool_calls?: readonly ToolCall[];
  /** The call that a tool's message answers. Default: none. */
  tool_call_id?: string;
}

/** A message as chat templates take it. */
export interface Message {
  role: ChatMessage["role"];
  /** May be undefined beside `tool_calls`. */
  content: string | undefined;
  tool_calls?: readonly ToolCall[];
  /** 0 for an answer that is not learned. */
  weight?: 0;
  [other: string]: unknown;
}

/** Input of a chat template besides messages. */
export interface TemplateInput {
  /** Tools that the assistant may call. Default: none. */
  tools?: readonly Tool[];
  /** Variables of the template, such as `enable_thinking`. Default: none. */
  chat_template_kwargs?: TemplateKwargs;
}

/** A chat template's whole input. */
export interface Conversation extends TemplateInput {
  messages: readonly Message[];
}

/** Variables of a chat template, as for transformers' `apply_chat_template`. */
export type TemplateKwargs = Readonly<Record<string, unknown>>;

/** Message keys that chat templates read unchanged. */
const PASSED_KEYS = ["name", "tool_call_id", "reasoning_content", "reasoning", "thinking"];

/** Role names of other dataset formats, such as ShareGPT. */
export const ROLE_NAMES: ReadonlyMap<string, ChatMessage["role"]> = new Map([
  ["human", "user"],
  ["observation", "tool"],
  ["tool_response", "tool"],
  ...["gpt", "bot", "model", "chatbot", "chatgpt", "bing", "bard", "ai"].map(
    (name) => [name, "assistant"] as const,
  ),
]);

/** A call's arguments as an object, empty without any; undefined if they are not an object. */
export function argumentsOf(rawArguments: unknown): Record<string, unknown> | undefined {
  if (!isSet(rawArguments) || rawArguments === "") return {};
  if (typeof rawArguments !== "string") return isRecord(rawArguments) ? rawArguments : undefined;
  try {
    const parsed = parseJson(rawArguments);
    return isRecord(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

/** Converts a valid message for chat templates: joins content parts and drops nulls. */
export function asMessage(message: ChatMessage | Record<string, unknown>): Message {
  const { role, content, tool_calls: calls } = message as Record<string, unknown>;
  const passed = PASSED_KEYS.flatMap((key) => {
    const value = (message as Record<string, unknown>)[key];
    return isSet(value) ? [[key, value] as const] : [];
  });
  return {
    role: role as Message["role"],
    content: textOf(content as ChatMessage["content"]),
    ...(isNonEmptyArray(calls) && { tool_calls: calls as ToolCall[] }),
    ...(role === "assistant" && isMarkedUnlearned(message) && { weight: 0 }),
    ...Object.fromEntries(passed),
  };
}

/** Whether training learns a message. */
export function isLearned({ role, weight }: Message): boolean {
  return role === "assistant" && weight !== 0;
}

/** The tools, or undefined if there are none. */
export function asTools(tools: unknown): readonly Tool[] | undefined {
  return isNonEmptyArray(tools) ? (tools as Tool[]) : undefined;
}

/** Joins content parts as lines. */
export function textOf(content: ChatMessage["content"]): string | undefined {
  if (typeof content === "string") return content;
  return content?.map(({ text }) => text).join("\n");
}

export function isNonEmptyArray(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0;
}

/** Whether a value is given. Libraries write null for a missing key. */
export function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}
