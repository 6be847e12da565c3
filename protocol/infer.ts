import type { ChatMessage, TemplateKwargs, Tool, ToolCall } from "./chat.ts";

/** A conversation or text to continue, and sampling options. */
export type InferRequest = (
  | {
      /** A conversation, which the model continues as the assistant; instead of `prompt`. */
      messages: readonly ChatMessage[];
      /** Tools that the assistant may call, if the model's chat template supports tools. Default: none. */
      tools?: readonly Tool[];
      prompt?: undefined;
      raw?: undefined;
    }
  | {
      /** A question, or the start of a text for a model trained on plain text; instead of `messages`. */
      prompt: string;
      /** Whether to continue `prompt` itself, without the chat template. Default: false. */
      raw?: boolean;
      messages?: undefined;
      tools?: undefined;
    }
) & {
  /** Maximum tokens to generate. Default: the rest of the model's context. */
  maxTokens?: number;
  /** Sampling temperature. 0, the default, is greedy. */
  temperature?: number;
  /** Samples from the most likely tokens whose probabilities sum to this. Default 1. */
  topP?: number;
  /** Seed of the sampling. Default 0. */
  seed?: number;
  /**
   * Texts that end the answer and are not part of it; each may span tokens. Default: none.
   * @example stop: "\n"
   */
  stop?: string | readonly string[];
  /**
   * Answers with the most likely of these texts. The result's `choices` has each one's probability. Up to
   * 1,000, of 65,536 characters in all. Default: any text.
   */
  choices?: readonly string[];
  /**
   * A JSON Schema, or a Standard Schema that converts to one, such as zod's and valibot's. The answer is JSON
   * that matches it; the result's `value` is that JSON, parsed. Default: any text.
   */
  schema?: AnswerSchema;
  /**
   * A regular expression, of JavaScript with its `u` flag, that the whole answer matches. Default: any text.
   * @example pattern: "[0-9]{4}-[0-9]{2}"
   */
  pattern?: string;
  /** Which of `tools` the answer must call. Default `auto`: the model decides. */
  toolChoice?: ToolChoice;
  /** With false, or with `toolChoice: { name }`, the answer ends after its first call. Default: true. */
  parallelToolCalls?: boolean;
  /** Returns the logprob of each token, and of this many alternatives: 0 to 20. Default: none. */
  logprobs?: number;
  /**
   * Variables of the model's chat template. Default: none.
   * @example chatTemplateKwargs: { enable_thinking: false }
   */
  chatTemplateKwargs?: TemplateKwargs;
  /**
   * Drops parts of messages and `chatTemplateKwargs` that the model's chat template ignores, such as a system
   * message, as training does. Default: false, which refuses them.
   */
  lenient?: boolean;
  /** Aborting rejects the answer with the signal's reason. Default: none. */
  signal?: AbortSignal;
};

/** `required`: at least one of the tools; `name`: this one; `none`: a text. */
export type ToolChoice =
  | "auto"
  | "none"
  | "required"
  | {
      /** The tool's name. */
      name: string;
    };

/** A JSON Schema. */
export type JsonSchema = boolean | { readonly [keyword: string]: unknown };

/** A schema of a library, as Standard Schema (https://standardschema.dev) describes it. */
export interface StandardSchema {
  /** The library's interface. */
  readonly "~standard": object;
}

/** A schema for an answer's JSON. */
export type AnswerSchema = JsonSchema | StandardSchema;

/** A token's probability, given all tokens before it. */
export interface TokenLogprob {
  /** The token's text; U+FFFD replaces a partial character. */
  token: string;
  /** The token in UTF-8. */
  bytes: number[];
  /** Natural logarithm of its probability at temperature 1, among all tokens. */
  logprob: number;
}

/** An answer. */
export interface InferResult {
  /** The answer's text, without the prompt, the stop text and tool calls. */
  text: string;
  /**
   * `stop`: the model ended its answer, or a stop text did; `length`: `maxTokens` or the context ran out;
   * `toolCalls`: the answer ended with tool calls.
   */
  finishReason: "stop" | "length" | "toolCalls";
  /** Number of prompt tokens, chat template included. */
  promptTokens: number;
  /** How many of them the engine had kept from earlier requests. Default: none. */
  cachedTokens?: number;
  /** Number of generated tokens. */
  tokens: number;
  /** The model's tool calls, if the request has `tools` and the chat template supports calls. */
  toolCalls?: ToolCall[];
  /** With `length`: the call that was cut off, if its name was complete; its arguments are the beginning of JSON. */
  truncatedCall?: ToolCall;
  /** For a request with `choices`: each choice's probability, in order; the sum is 1. */
  choices?: { text: string; probability: number }[];
  /**
   * For a request with `schema`: the parsed answer; integers beyond 2^53 are `bigint`. Undefined if the answer
   * was cut off (`length`).
   */
  value?: unknown;
  /** For a request with `logprobs`: each token's logprobs. */
  logprobs?: (TokenLogprob & { top: TokenLogprob[] })[];
}

/** A delta of a streamed answer. */
export interface InferDelta {
  /** Text since the previous delta; may be empty. Characters are never split. */
  text: string;
  /** Complete tool calls. */
  toolCalls?: ToolCall[];
  /** Logprobs of the tokens since the previous delta. */
  logprobs?: InferResult["logprobs"];
}

/** An answer's text as a stream; breaking out of the loop stops the model. */
export interface AnswerStream extends AsyncIterable<string> {
  /** The whole answer, once it has ended; rejects as `infer` would. */
  readonly result: Promise<InferResult>;
}

/** The valid range of a number. */
interface Range {
  /** Completes "must be". */
  expected: string;
  accepts: (value: number) => boolean;
}

/** The numeric options of `infer`. */
export const SAMPLING = {
  maxTokens: {
    expected: "a whole number of at least 1",
    accepts: (value) => Number.isSafeInteger(value) && value >= 1,
  },
  temperature: {
    expected: "a number of at least 0",
    accepts: (value) => Number.isFinite(value) && value >= 0,
  },
  topP: {
    expected: "a number above 0 and at most 1",
    accepts: (value) => value > 0 && value <= 1,
  },
  seed: {
    expected: "a whole number of at least 0",
    accepts: (value) => Number.isSafeInteger(value) && value >= 0,
  },
  logprobs: {
    expected: "a whole number from 0 to 20",
    accepts: (value) => Number.isSafeInteger(value) && value >= 0 && value <= 20,
  },
} satisfies Record<string, Range>;
