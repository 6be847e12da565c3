import { type RequestFault, KitError } from "../../protocol/error.ts";
import type { InferResult } from "../../protocol/infer.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import { assertNotDegenerate } from "./answer.ts";
import { type LogprobEntry, copyLogprobs } from "./logprobs.ts";
import type { NextToken, Reader } from "./reader.ts";

interface ChoiceRequest {
  choices: readonly string[];
  prompt: readonly number[];
  /** Tokens of the prompt followed by an answer. */
  tokensWith: (text: string) => number[];
  context: number;
  tokenizer: Tokenizer;
  stopTokens: readonly number[];
  logprobs: number | undefined;
  read: (reader: Omit<Reader, "isCancelled">) => Promise<void>;
  /** The fault of an overlong prompt. */
  fault: RequestFault;
}

/** The end of an answer, as a pseudo-token. */
const END = -1;

/** The log probabilities of tokens that may come next. */
type NextLogprobs = Map<number, { logprob: number; entry?: LogprobEntry | undefined }>;

/**
 * Chooses the answer whose tokens, followed by a stop token, are most probable after the prompt. Prompt and answer are
 * tokenized together. The stop token distinguishes an answer from its extensions.
 * @throws KitError `REQUEST_INVALID` for an answer that doesn't fit the context
 */
export async function chooseAnswer(request: ChoiceRequest): Promise<InferResult> {
  const { choices, prompt, tokensWith, context, logprobs, read } = request;
  const texts = choices.map(tokensWith);
  const tooLong = texts.findIndex((tokens) => tokens.length > context);
  if (tooLong >= 0) {
    throw new KitError(
      "REQUEST_INVALID",
      `Shorten the prompt or choices[${tooLong}]: together they have ${texts[tooLong]?.length} tokens, and this model's maximum context length is ${context} tokens.`,
      { fault: request.fault },
    );
  }
  // A token may span the boundary between prompt and answer, so scoring starts after their longest common prefix.
  const from = Math.max(1, Math.min(...texts.map((tokens) => sharedPrefixLength(prompt, tokens))));
  const paths = texts.map((tokens) => pathOf(tokens, from));
  const byPrefix = new Map<string, NextLogprobs>();
  for (const { key, next } of paths.flat()) {
    const nextLogprobs = byPrefix.get(key) ?? new Map();
    byPrefix.set(key, nextLogprobs.set(next, { logprob: 0 }));
  }
  const [first, ...others] = readersOf(texts, paths, from, (key, next) =>
    scoreNext(next, byPrefix.get(key)!, request),
  );
  // The others reuse the prompt's KV cache.
  if (first) await read(first);
  await Promise.all(others.map(read));
  const steps = paths.map((path) => path.map(({ key, next }) => byPrefix.get(key)!.get(next)!));
  const sums = steps.map((path) => path.reduce((sum, { logprob }) => sum + logprob, 0));
  const best = sums.indexOf(Math.max(...sums));
  const weights = sums.map((sum) => Math.exp(sum - sums[best]!));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const entries = steps[best]!.flatMap(({ entry }) => entry ?? []);
  return {
    text: choices[best]!,
    finishReason: "stop",
    promptTokens: prompt.length,
    tokens: texts[best]!.length - from,
    choices: choices.map((text, i) => ({ text, probability: weights[i]! / total })),
    ...(logprobs !== undefined && { logprobs: entries }),
  };
}

/** A token of an answer after a prefix of the answer. */
interface Step {
  /** Identifies the prefix, which answers that begin alike share. */
  key: string;
  next: number;
}

function pathOf(tokens: readonly number[], from: number): Step[] {
  return Array.from({ length: tokens.length - from + 1 }, (_, i) => ({
    key: tokens.slice(from, from + i).join(),
    next: tokens[from + i] ?? END,
  }));
}

/** Readers that together visit each prefix once. @param take called at each prefix */
function readersOf(
  texts: readonly (readonly number[])[],
  paths: readonly (readonly Step[])[],
  from: number,
  take: (key: string, next: NextToken) => void,
): Omit<Reader, "isCancelled">[] {
  const visited = new Set<string>();
  return texts.flatMap((tokens, i) => {
    const path = paths[i]!;
    const start = path.findIndex(({ key }) => !visited.has(key));
    if (start === -1) return [];
    for (const { key } of path) visited.add(key);
    let at = start;
    return {
      tokens,
      logitsFrom: from - 1 + start,
      needsAllLogits: true,
      take(next: NextToken) {
        take(path[at]!.key, next);
        return ++at === path.length;
      },
    };
  });
}

function scoreNext(
  next: NextToken,
  nextLogprobs: NextLogprobs,
  { tokenizer, stopTokens, logprobs }: Pick<ChoiceRequest, "tokenizer" | "stopTokens" | "logprobs">,
): void {
  assertNotDegenerate(next);
  const { logits } = next;
  const total = next.logSumExp();
  const entryOf = logprobs === undefined ? undefined : copyLogprobs(next, logprobs, tokenizer);
  for (const token of nextLogprobs.keys()) {
    if (token !== END) {
      nextLogprobs.set(token, { logprob: logits[token]! - total, entry: entryOf?.(token) });
    } else if (stopTokens.length > 0) {
      nextLogprobs.set(END, {
        logprob: logSumExp(stopTokens.map((stop) => logits[stop]!)) - total,
      });
    }
  }
}

/** Length of the common prefix, in tokens. */
function sharedPrefixLength(a: readonly number[], b: readonly number[]): number {
  const differs = a.findIndex((token, i) => token !== b[i]);
  return differs === -1 ? a.length : differs;
}

function logSumExp(values: readonly number[]): number {
  const highest = Math.max(...values);
  return highest + Math.log(values.reduce((sum, value) => sum + Math.exp(value - highest), 0));
}
