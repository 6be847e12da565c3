import { type RequestFault, KitError } from "../../protocol/error.ts";
import type { InferResult } from "../../protocol/infer.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import { assertNotDegenerate } from "./answer.ts";
import { type Measured, measure } from "./logprobs.ts";
import type { NextToken, Reader } from "./reader.ts";

interface ChoiceRequest {
  choices: readonly string[];
  prompt: readonly number[];
  /** Tokens of the prompt with an answer. */
  tokensWith: (text: string) => number[];
  context: number;
  tokenizer: Tokenizer;
  stopTokens: readonly number[];
  /** The request's option. */
  logprobs: number | undefined;
  read: (reader: Omit<Reader, "isCancelled">) => Promise<void>;
  /** The fault of an overlong prompt. */
  fault: RequestFault;
}

/** The end of an answer, as a pseudo-token. */
const END = -1;

/** Log probabilities of the next tokens. */
type NextLogprobs = Map<number, { sum: number; measured?: Measured | undefined }>;

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
  const found = new Map<string, NextLogprobs>();
  for (const { key, next } of paths.flat()) {
    const following = found.get(key) ?? new Map();
    found.set(key, following.set(next, { sum: 0 }));
  }
  const [first, ...others] = readersOf(texts, paths, from, (key, next) =>
    measureAll(next, found.get(key)!, request),
  );
  // The others reuse the prompt's KV cache.
  if (first) await read(first);
  await Promise.all(others.map(read));
  const steps = paths.map((path) => path.map(({ key, next }) => found.get(key)!.get(next)!));
  const sums = steps.map((path) => path.reduce((all, { sum }) => all + sum, 0));
  const best = sums.indexOf(Math.max(...sums));
  const weights = sums.map((sum) => Math.exp(sum - sums[best]!));
  const total = weights.reduce((all, weight) => all + weight, 0);
  const measured = steps[best]!.flatMap((step) => step.measured ?? []);
  return {
    text: choices[best]!,
    finishReason: "stop",
    promptTokens: prompt.length,
    tokens: texts[best]!.length - from,
    choices: choices.map((text, i) => ({ text, probability: weights[i]! / total })),
    ...(logprobs !== undefined && { logprobs: measured }),
  };
}

/** A token of an answer, after a prefix. */
interface Step {
  /** The prefix, shared by answers that begin alike. */
  key: string;
  next: number;
}

function pathOf(tokens: readonly number[], from: number): Step[] {
  return Array.from({ length: tokens.length - from + 1 }, (_, i) => ({
    key: tokens.slice(from, from + i).join(),
    next: tokens[from + i] ?? END,
  }));
}

/** Readers that together visit each prefix once. @param take called for each */
function readersOf(
  texts: readonly (readonly number[])[],
  paths: readonly (readonly Step[])[],
  from: number,
  take: (key: string, next: NextToken) => void,
): Omit<Reader, "isCancelled">[] {
  const taken = new Set<string>();
  return texts.flatMap((tokens, i) => {
    const path = paths[i]!;
    const start = path.findIndex(({ key }) => !taken.has(key));
    if (start === -1) return [];
    for (const { key } of path) taken.add(key);
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

function measureAll(
  next: NextToken,
  following: NextLogprobs,
  { tokenizer, stopTokens, logprobs }: Pick<ChoiceRequest, "tokenizer" | "stopTokens" | "logprobs">,
): void {
  assertNotDegenerate(next);
  const { logits } = next;
  const total = next.logSumExp();
  const measured = logprobs === undefined ? undefined : measure(next, logprobs, tokenizer);
  for (const token of following.keys()) {
    if (token !== END) {
      following.set(token, { sum: logits[token]! - total, measured: measured?.(token) });
    } else if (stopTokens.length > 0) {
      following.set(END, { sum: logSum(stopTokens.map((end) => logits[end]!)) - total });
    }
  }
}

/** Length of the common prefix, in tokens. */
function sharedPrefixLength(one: readonly number[], other: readonly number[]): number {
  const differs = one.findIndex((token, i) => token !== other[i]);
  return differs === -1 ? one.length : differs;
}

/** log-sum-exp. */
function logSum(values: readonly number[]): number {
  const highest = Math.max(...values);
  return highest + Math.log(values.reduce((sum, value) => sum + Math.exp(value - highest), 0));
}
