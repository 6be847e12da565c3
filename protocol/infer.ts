import type { ChatMessage, TemplateKwargs, Tool, ToolCall } from "./chat.ts";

/** A conversation or a bare text to continue, and how to choose the tokens. */
export type InferRequest = (
  | {
      /** A conversation, which the model goes on with as the assistant; in place of `prompt`. */
      messages: readonly ChatMessage[];
      /** What the assistant may call, for a model whose chat template takes tools. Default: none. */
      tools?: readonly Tool[];
      prompt?: undefined;
      raw?: undefined;
    }
  | {
      /** A question, or the start of a text for a model that learned texts; in place of `messages`. */
      prompt: string;
      /** The model goes on with `prompt` as it is, not with a question in its chat template. Default: false. */
      raw?: boolean;
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
  /**
   * Texts that end the answer, which has none of them; each may lie across tokens. Default: none.
   * @example stop: "\n"
   */
  stop?: string | readonly string[];
  /**
   * The answer is one of these, the likeliest; nothing is drawn. The result's `choices` has the probability of
   * each. Up to 1,000, of 65,536 characters in all. Default: the model's own words.
   */
  choices?: readonly string[];
  /**
   * A JSON Schema, or a Standard Schema that becomes one, such as zod's and valibot's. The answer is JSON that it
   * allows; the result's `value` is that JSON, parsed. Default: any text.
   */
  schema?: AnswerSchema;
  /**
   * A regular expression, of JavaScript with its `u` flag, that the whole answer matches. Default: any text.
   * @example pattern: "[0-9]{4}-[0-9]{2}"
   */
  pattern?: string;
  /** Which tools the answer must call, if `tools` has any: `auto`, the default, leaves it to the model. */
  toolChoice?: ToolChoice;
  /** With false, or with `toolChoice: { name }`, the answer ends after its first call. Default: true. */
  parallelToolCalls?: boolean;
  /** Log probabilities of each token of the answer, and of so many of the likeliest in its place: 0 to 20. Default: none. */
  logprobs?: number;
  /**
   * Variables of the model's chat template, by their names there. Default: none.
   * @example chatTemplateKwargs: { enable_thinking: false }
   */
  chatTemplateKwargs?: TemplateKwargs;
  /**
   * Leaves out what the model's chat template does not write of messages, such as a system message, or does not
   * read of `chatTemplateKwargs`, as a training does. Default: false, it is refused.
   */
  lenient?: boolean;
  /** Aborting it rejects the answer with its reason. Default: none. */
  signal?: AbortSignal;
};

/** `required`: at least one of the tools; `name`: this one; `none`: a text. */
export type ToolChoice =
  | "auto"
  | "none"
  | "required"
  | {
      /** A tool's. */
      name: string;
    };

/** A JSON Schema as JSON has it. */
export type JsonSchema = boolean | { readonly [keyword: string]: unknown };

/** A schema of a library, as Standard Schema (https://standardschema.dev) describes it. */
export interface StandardSchema {
  /** As the library makes it. */
  readonly "~standard": object;
}

/** What an answer's JSON is held to. */
export type AnswerSchema = JsonSchema | StandardSchema;

/** How likely a token was, given all before it. */
export interface TokenLogprob {
  /** Its text; U+FFFD stands in it for a part of a character. */
  token: string;
  /** UTF-8. */
  bytes: number[];
  /** Natural logarithm of its probability at temperature 1, among all tokens. */
  logprob: number;
}

/** An answer. */
export interface InferResult {
  /** What the model answered, without the prompt, the text that stopped it and its calls of tools. */
  text: string;
  /**
   * `stop`: the model ended its answer, or one of `stop` did; `length`: `maxTokens` or the context ran out;
   * `toolCalls`: it ended with calls of tools.
   */
  finishReason: "stop" | "length" | "toolCalls";
  /** Tokens of the prompt, as the model's chat template writes it, a count. */
  promptTokens: number;
  /** Generated tokens, a count. */
  tokens: number;
  /** What the model asks to be called, where the request has `tools` and the model's chat template a form for calls. */
  toolCalls?: ToolCall[];
  /** For a request with `choices`: each with its probability, in the order of the request; together 1. */
  choices?: { text: string; probability: number }[];
  /**
   * For a request with `schema`: the answer, parsed; an integer beyond 2^53 is a `bigint`, which loses no digit.
   * Undefined if the answer was cut off (`length`).
   */
  value?: unknown;
  /** For a request with `logprobs`: of each token of the answer. */
  logprobs?: (TokenLogprob & { top: TokenLogprob[] })[];
}

/** A part of an answer, as soon as it is known to be one. */
export interface InferPiece {
  /** Goes on from the piece before; may be empty. No character is split. */
  text: string;
  /** Calls that are whole. */
  toolCalls?: ToolCall[];
  /** Of the tokens that have come since the piece before. */
  logprobs?: InferResult["logprobs"];
}

/** The pieces of an answer's text, which break off the answer when nobody reads on. */
export interface AnswerStream extends AsyncIterable<string> {
  /** The whole answer, once it has ended; rejects as `infer` would. */
  readonly result: Promise<InferResult>;
}

/** The values that a number of a request may have. */
interface Range {
  /** Completes "must be". */
  expected: string;
  holds: (value: number) => boolean;
}

/** The numbers of an `infer` request, by their names. */
export const SAMPLING = {
  maxTokens: {
    expected: "a whole number of at least 1",
    holds: (value) => Number.isSafeInteger(value) && value >= 1,
  },
  temperature: {
    expected: "a number of at least 0",
    holds: (value) => Number.isFinite(value) && value >= 0,
  },
  topP: {
    expected: "a number above 0 and at most 1",
    holds: (value) => value > 0 && value <= 1,
  },
  seed: {
    expected: "a whole number of at least 0",
    holds: (value) => Number.isSafeInteger(value) && value >= 0,
  },
  logprobs: {
    expected: "a whole number from 0 to 20",
    holds: (value) => Number.isSafeInteger(value) && value >= 0 && value <= 20,
  },
} satisfies Record<string, Range>;
