import { randomUUID } from "node:crypto";
import type { InferDelta, InferResult } from "../../protocol/infer.ts";
import { type ApiError, apiErrorBody } from "./apiError.ts";
import type { ParsedRequest } from "./parsedRequest.ts";

/** Fields that every chunk of an answer begins with. */
export interface AnswerHead {
  id: string;
  /** Unix time, in seconds. */
  created: number;
  /** The answering model's id. */
  model: string;
}

/** Formats the events of a streamed answer. */
export interface Frames {
  /** Begins the stream. */
  opening: () => string;
  delta: (delta: InferDelta) => string;
  /** Ends a choice; the next delta belongs to another. */
  choice: (result: InferResult) => string;
  /** Ends the stream after the last choice. */
  end: (results: readonly InferResult[]) => string;
  /** Ends the stream after an error. */
  fail: (error: ApiError) => string;
}

/** How a route formats answers. */
export interface AnswerFormat {
  prefix: string;
  /** @param results one for each choice */
  whole: (head: AnswerHead, results: readonly InferResult[], request: ParsedRequest) => object;
  frames: (head: AnswerHead, request: ParsedRequest) => Frames;
}

export const STREAM_END = "data: [DONE]\n\n";

export function createHead({ prefix }: AnswerFormat, model: string): AnswerHead {
  return { id: createId(prefix), created: unixTime(), model };
}

export function createId(prefix: string): string {
  return prefix + randomUUID().replaceAll("-", "");
}

/** In seconds. */
export function unixTime(): number {
  return Math.floor(Date.now() / 1000);
}

export function frame(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

export function errorFrame({ status, message, details }: ApiError): string {
  return frame(apiErrorBody(status, message, details));
}

export function usageOf(results: readonly InferResult[]): object {
  const { promptTokens, tokens } = tokensOf(results);
  return {
    prompt_tokens: promptTokens,
    completion_tokens: tokens,
    total_tokens: promptTokens + tokens,
  };
}

/** Token counts over all choices. */
export function tokensOf(
  results: readonly InferResult[],
): Pick<InferResult, "promptTokens" | "tokens"> {
  return {
    promptTokens: results.reduce((sum, { promptTokens }) => sum + promptTokens, 0),
    tokens: results.reduce((sum, { tokens }) => sum + tokens, 0),
  };
}

/** The usage chunk, if requested, and the end of the stream. */
export function streamEnd(usage: object | undefined): string {
  return (usage === undefined ? "" : frame(usage)) + STREAM_END;
}

/** OpenAI's stand-in for minus infinity, which JSON lacks. */
const IMPOSSIBLE = -9999;

export function finite(logprob: number): number {
  return Number.isFinite(logprob) ? logprob : IMPOSSIBLE;
}
