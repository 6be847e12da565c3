import { isRecord } from "./isRecord.ts";

/** A message of a conversation, as the model's chat template takes it. */
export interface ChatMessage {
  /** Who says it. */
  role: "system" | "user" | "assistant";
  /** What is said; may be empty. */
  content: string;
}

export function isChatMessage(value: unknown): value is ChatMessage {
  if (!isRecord(value)) return false;
  const { role, content } = value;
  const known = role === "system" || role === "user" || role === "assistant";
  return known && typeof content === "string";
}

/** Whether a row has tools, or a call of one: no chat template is given them. */
export function hasTools({ tools, messages }: Record<string, unknown>): boolean {
  const isSet = (value: unknown) => Array.isArray(value) && value.length > 0;
  const calls = (message: unknown) =>
    isRecord(message) && (message.role === "tool" || isSet(message.tool_calls));
  return isSet(tools) || (Array.isArray(messages) && messages.some(calls));
}

/** A conversation or a bare text to continue, and how to choose the tokens. */
export type InferRequest = (
  | {
      /** A conversation, which the model goes on with as the assistant; in place of `prompt`. */
      messages: ChatMessage[];
      prompt?: undefined;
    }
  | {
      /** A question, or the start of a text for a model that learned texts; in place of `messages`. */
      prompt: string;
      messages?: undefined;
    }
) & {
  /** Most tokens to generate. Default: the rest of the model's context. */
  maxTokens?: number;
  /** 0, the default, always takes the likeliest token. */
  temperature?: number;
  /** Sample among the likeliest tokens that together hold this much probability. Default 1. */
  topP?: number;
  /** Seed of the sampling. Default 0. */
  seed?: number;
  /** Aborting it rejects the answer with its reason. Default: none. */
  signal?: AbortSignal;
};

/** An answer. */
export interface InferResult {
  /** What the model answered, without the prompt. */
  text: string;
  /** `stop`: the model ended its answer; `length`: `maxTokens` or the context ran out. */
  finishReason: "stop" | "length";
  /** Generated tokens, a count. */
  tokens: number;
}
