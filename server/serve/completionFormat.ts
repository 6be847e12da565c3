import type { InferResult } from "../../protocol/infer.ts";
import {
  type AnswerFormat,
  errorFrame,
  finite,
  frame,
  streamEnd,
  usageOf,
} from "./answerFormat.ts";

/** Unique in a chunk, because quotes in names are escaped. */
const NO_TEXT = '"text":""';

export const COMPLETION_FORMAT: AnswerFormat = {
  prefix: "cmpl-",

  whole: ({ id, created, model }, results) => ({
    id,
    object: "text_completion",
    created,
    model,
    choices: results.map(({ text, finishReason, logprobs }, index) => ({
      index,
      text,
      logprobs: logprobsOf(logprobs, 0) ?? null,
      finish_reason: finishReason,
    })),
    usage: usageOf(results),
  }),

  frames({ id, created, model }, { includesUsage }) {
    const common = { id, object: "text_completion", created, model };
    const usage = includesUsage ? { usage: null } : {};
    let index = 0;
    let offset = 0;
    let [before = "", after = ""] = chunk("").split(NO_TEXT);

    function chunk(text: string, logprobs?: object, finishReason?: string): string {
      const choice = { index, text, logprobs: logprobs ?? null };
      return frame({
        ...common,
        choices: [{ ...choice, finish_reason: finishReason ?? null }],
        ...usage,
      });
    }

    return {
      opening: () => "",
      delta({ text, logprobs }) {
        if (!logprobs?.length)
          return text === "" ? "" : `${before}"text":${JSON.stringify(text)}${after}`;
        const textChunk = chunk(text, logprobsOf(logprobs, offset));
        offset += logprobs.reduce((length, { token }) => length + token.length, 0);
        return textChunk;
      },
      choice({ finishReason }) {
        const last = chunk("", undefined, finishReason);
        index++;
        offset = 0;
        [before = "", after = ""] = chunk("").split(NO_TEXT);
        return last;
      },
      end: (results) =>
        streamEnd(includesUsage ? { ...common, choices: [], usage: usageOf(results) } : undefined),
      fail: errorFrame,
    };
  },
};

/** @param offset of the first token in the answer's text, in UTF-16 units */
function logprobsOf(logprobs: InferResult["logprobs"], offset: number): object | undefined {
  if (!logprobs) return undefined;
  let next = offset;
  return {
    tokens: logprobs.map(({ token }) => token),
    token_logprobs: logprobs.map(({ logprob }) => finite(logprob)),
    top_logprobs: logprobs.map(({ top }) =>
      Object.fromEntries(top.map(({ token, logprob }) => [token, finite(logprob)])),
    ),
    text_offset: logprobs.map(({ token }) => (next += token.length) - token.length),
  };
}
