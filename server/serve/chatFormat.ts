import type { ToolCall } from "../../protocol/chat.ts";
import type { InferResult, TokenLogprob } from "../../protocol/infer.ts";
import { stringifyJson } from "../../protocol/json.ts";
import {
  type AnswerFormat,
  createId,
  errorFrame,
  finite,
  frame,
  streamEnd,
  usageOf,
} from "./answerFormat.ts";

const FINISH_REASONS = { stop: "stop", length: "length", toolCalls: "tool_calls" } as const;

/** Unique in a chunk, because quotes in names are escaped. */
const NO_CONTENT = '"content":""';

export const CHAT_FORMAT: AnswerFormat = {
  prefix: "chatcmpl-",

  whole: ({ id, created, model }, results) => ({
    id,
    object: "chat.completion",
    created,
    model,
    choices: results.map(choiceOf),
    usage: usageOf(results),
  }),

  frames({ id, created, model }, { includesUsage }) {
    const common = { id, object: "chat.completion.chunk", created, model };
    const usage = includesUsage ? { usage: null } : {};
    /** Precomputed around the content: text-only deltas are the most frequent. */
    const [before = "", after = ""] = chunk({ content: "" }).split(NO_CONTENT);
    let callCount = 0;

    function chunk(
      delta: object,
      logprobs?: InferResult["logprobs"],
      finishReason?: string,
    ): string {
      const choice = { index: 0, delta, logprobs: logprobsOf(logprobs) ?? null };
      const choices = [{ ...choice, finish_reason: finishReason ?? null }];
      return frame({ ...common, choices, ...usage });
    }

    function callChunk(calls: readonly ToolCall[]): string {
      const called = calls.map((call) => ({ index: callCount++, ...callOf(call) }));
      return called.length > 0 ? chunk({ tool_calls: called }) : "";
    }

    return {
      opening: () => chunk({ role: "assistant", content: "" }),
      delta({ text, toolCalls = [], logprobs }) {
        if (logprobs?.length) return chunk({ content: text }, logprobs) + callChunk(toolCalls);
        const content = text === "" ? "" : `${before}"content":${JSON.stringify(text)}${after}`;
        return content + callChunk(toolCalls);
      },
      choice: ({ finishReason, truncatedCall }) =>
        callChunk(truncatedCall ? [truncatedCall] : []) +
        chunk({}, undefined, FINISH_REASONS[finishReason]),
      end: (results) =>
        streamEnd(includesUsage ? { ...common, choices: [], usage: usageOf(results) } : undefined),
      fail: errorFrame,
    };
  },
};

function choiceOf(result: InferResult, index: number) {
  const { text, finishReason, logprobs } = result;
  const calls = callsOf(result).map(callOf);
  const message = {
    role: "assistant",
    content: text === "" && calls.length > 0 ? null : text,
    refusal: null,
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  return {
    index,
    message,
    logprobs: logprobsOf(logprobs) ?? null,
    finish_reason: FINISH_REASONS[finishReason],
  };
}

/** All calls of an answer; the last one may be cut. */
export function callsOf({ toolCalls = [], truncatedCall }: InferResult): ToolCall[] {
  return truncatedCall ? [...toolCalls, truncatedCall] : toolCalls;
}

export function callOf({ id, function: { name, arguments: rawArguments } }: ToolCall) {
  return {
    id: id ?? createId("call_").slice(0, 29),
    type: "function",
    function: {
      name,
      arguments:
        typeof rawArguments === "string" ? rawArguments : (stringifyJson(rawArguments) ?? "{}"),
    },
  };
}

function logprobsOf(logprobs: InferResult["logprobs"]): object | undefined {
  if (!logprobs) return undefined;
  return { content: asTokens(logprobs), refusal: null };
}

export function asTokens(logprobs: NonNullable<InferResult["logprobs"]>) {
  return logprobs.map(({ top, ...token }) => ({
    ...asToken(token),
    top_logprobs: top.map(asToken),
  }));
}

function asToken({ token, logprob, bytes }: TokenLogprob) {
  return { token, logprob: finite(logprob), bytes };
}
