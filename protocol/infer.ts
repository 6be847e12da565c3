import type { ChatMessage, Tool } from "./chat.ts";

/** A conversation or a bare text to continue, and how to choose the tokens. */
export type InferRequest = (
  | {
      /** A conversation, which the model goes on with as the assistant; in place of `prompt`. */
      messages: readonly ChatMessage[];
      /** What the assistant may call, for a model whose chat template takes tools. Default: none. */
      tools?: readonly Tool[];
      prompt?: undefined;
    }
  | {
      /** A question, or the start of a text for a model that learned texts; in place of `messages`. */
      prompt: string;
      messages?: undefined;
      tools?: undefined;
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
