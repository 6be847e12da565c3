import { randomUUID } from "node:crypto";
import type { InferPiece, InferResult } from "../../protocol/infer.ts";

/** What each part of an answer begins with. */
export interface AnswerHead {
  id: string;
  /** Unix time, in seconds. */
  created: number;
  /** The id of the model that answers. */
  model: string;
}

/** The events of a streamed answer, as they are written. */
export interface Frames {
  delta: (delta: InferPiece) => string;
  /** Ends a choice; the next piece is another's. */
  choice: (result: InferResult) => string;
  /** What comes after the last choice, the end of the stream included. */
  end: (results: readonly InferResult[]) => string;
}

/** How a route writes answers. */
export interface AnswerFormat {
  /** Of an answer's id. */
  prefix: string;
  /** @param results one for each choice */
  whole: (head: AnswerHead, results: readonly InferResult[]) => object;
  frames: (head: AnswerHead, options: { includesUsage: boolean }) => Frames;
}

export const STREAM_END = "data: [DONE]\n\n";

export function createHead({ prefix }: AnswerFormat, model: string): AnswerHead {
  const id = `${prefix}-${randomUUID().replaceAll("-", "")}`;
  return { id, created: Math.floor(Date.now() / 1000), model };
}

export function frame(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

export function usageOf(results: readonly InferResult[]): object {
  const { promptTokens, tokens } = tokensOf(results);
  return {
    prompt_tokens: promptTokens,
    completion_tokens: tokens,
    total_tokens: promptTokens + tokens,
  };
}

/** Of all choices together. */
export function tokensOf(
  results: readonly InferResult[],
): Pick<InferResult, "promptTokens" | "tokens"> {
  return {
    promptTokens: results.reduce((sum, { promptTokens }) => sum + promptTokens, 0),
    tokens: results.reduce((sum, { tokens }) => sum + tokens, 0),
  };
}

/** The chunk that has the usage and no choice, if it was asked for, and the end. */
export function streamEnd(usage: object | undefined): string {
  return (usage === undefined ? "" : frame(usage)) + STREAM_END;
}

/** JSON has no infinity; OpenAI writes this for what is impossible. */
const IMPOSSIBLE = -9999;

export function finite(logprob: number): number {
  return Number.isFinite(logprob) ? logprob : IMPOSSIBLE;
}
