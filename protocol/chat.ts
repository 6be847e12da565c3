import { isRecord } from "./isRecord.ts";
import { parseJson } from "./json.ts";
import { isMarkedUnlearned } from "./learnedMarks.ts";

/** A part of a message's content. */
export interface TextPart {
  /** Kit reads text alone. */
  type: "text";
  /** The text. */
  text: string;
}

/** The assistant's call of a tool. */
export interface ToolCall {
  /** A tool's answer refers to it. Default: none. */
  id?: string;
  /** Default: `function`, the only kind. */
  type?: "function";
  /** What is called. */
  function: {
    /** The tool's. */
    name: string;
    /** JSON, as OpenAI writes it, or the object itself. */
    arguments: string | Record<string, unknown>;
  };
}

/** A tool that the assistant may call, as OpenAI describes it. */
export interface Tool {
  /** The only kind. */
  type: "function";
  /** What the model sees. */
  function: {
    /** The name to call it by. */
    name: string;
    /** What it does. Default: none. */
    description?: string;
    /** A JSON schema. Default: none. */
    parameters?: Record<string, unknown>;
    /** Written as it is. Default: none. */
    strict?: boolean;
  };
}

/** A message of a conversation, as OpenAI's API takes it. */
export interface ChatMessage {
  /** The speaker. Templates that don't know `developer` get `system`. */
  role: "system" | "developer" | "user" | "assistant" | "tool";
  /** What is said; may be empty. Default: none, beside `tool_calls` alone. */
  // eslint-disable-next-line no-restricted-syntax -- As OpenAI writes it.
  content?: string | null | readonly TextPart[];
  /** Tells speakers of one role apart. Default: none. */
  name?: string;
  /** The assistant's. Default: none. */
  tool_calls?: readonly ToolCall[];
  /** The call that a tool's message answers. Default: none. */
  tool_call_id?: string;
}

/** A message as chat templates take it. */
export interface Message {
  role: ChatMessage["role"];
  /** Undefined beside `tool_calls` alone. */
  content: string | undefined;
  tool_calls?: readonly ToolCall[];
  /** Of an answer that is not learned. */
  weight?: 0;
  [other: string]: unknown;
}

/** What a chat template gets beside messages. */
export interface TemplateInput {
  /** What the assistant may call. Default: none. */
  tools?: readonly Tool[];
  /** Variables of the template, such as `enable_thinking`, by their names there. Default: none. */
  chat_template_kwargs?: TemplateKwargs;
}

/** What a chat template writes. */
export interface Conversation extends TemplateInput {
  messages: readonly Message[];
}

/** Variables of a chat template by their names, as `apply_chat_template` of `transformers` takes them. */
export type TemplateKwargs = Readonly<Record<string, unknown>>;

/** Keys that chat templates of the field read as they are. */
const PASSED = ["name", "tool_call_id", "reasoning_content", "reasoning", "thinking"];
/** What other tools call the roles. */
export const ROLE_NAMES: ReadonlyMap<string, ChatMessage["role"]> = new Map([
  ["human", "user"],
  ["observation", "tool"],
  ["tool_response", "tool"],
  ...["gpt", "bot", "model", "chatbot", "chatgpt", "bing", "bard", "ai"].map(
    (name) => [name, "assistant"] as const,
  ),
]);
/** A call's arguments as an object; undefined for others. No arguments are none. */
export function argumentsOf(given: unknown): Record<string, unknown> | undefined {
  if (!isSet(given) || given === "") return {};
  if (typeof given !== "string") return isRecord(given) ? given : undefined;
  try {
    const parsed = parseJson(given);
    return isRecord(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

/** A good message as templates take it: a list of parts is a text, and what is null is not there. */
export function asMessage(message: ChatMessage | Record<string, unknown>): Message {
  const { role, content, tool_calls: calls } = message as Record<string, unknown>;
  const passed = PASSED.flatMap((key) => {
    const value = (message as Record<string, unknown>)[key];
    return isSet(value) ? [[key, value] as const] : [];
  });
  return {
    role: role as Message["role"],
    content: textOf(content as ChatMessage["content"]),
    ...(isFilled(calls) && { tool_calls: calls as ToolCall[] }),
    ...(role === "assistant" && isMarkedUnlearned(message) && { weight: 0 }),
    ...Object.fromEntries(passed),
  };
}

/** Whether a training learns a message. */
export function isLearned({ role, weight }: Message): boolean {
  return role === "assistant" && weight !== 0;
}

/** The tools; undefined without any. */
export function asTools(tools: unknown): readonly Tool[] | undefined {
  return isFilled(tools) ? (tools as Tool[]) : undefined;
}

/** Parts are lines. */
function textOf(content: ChatMessage["content"]): string | undefined {
  if (typeof content === "string") return content;
  return content?.map(({ text }) => text).join("\n");
}

export function isFilled(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0;
}

/** Libraries write an optional key without a value as null. */
export function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}
