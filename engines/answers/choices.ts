import { type RequestFault, KitError } from "../../protocol/error.ts";
import type { InferResult } from "../../protocol/infer.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import { assertTelling } from "./answer.ts";
import { type Measured, measure } from "./logprobs.ts";
import type { NextToken, Reader } from "./reader.ts";

interface Asked {
  choices: readonly string[];
  prompt: readonly number[];
  /** Tokens of the prompt with the beginning of an answer. */
  begunWith: (text: string) => number[];
  context: number;
  tokenizer: Tokenizer;
  /** The tokens that end an answer. */
  ends: readonly number[];
  /** As a request has it. */
  logprobs: number | undefined;
  read: (reader: Omit<Reader, "isCancelled">) => Promise<void>;
  /** Of a prompt that is too long. */
  fault: RequestFault;
}

/** Stands for the end of an answer among the tokens that may follow. */
const END = -1;

/** By a token that follows, its log probability. */
type Following = Map<number, { sum: number; measured?: Measured | undefined }>;

/**
 * Chooses the likeliest of some answers: by the probability of all its tokens, as the model's tokenizer writes the
 * prompt and the answer in one, and of the end after them, which tells one from another that begins with it.
 * @throws KitError `REQUEST_INVALID` for one that does not fit the model's context
 */
export async function chooseAnswer(asked: Asked): Promise<InferResult> {
  const { choices, prompt, begunWith, context, logprobs, read } = asked;
  const texts = choices.map(begunWith);
  const tooLong = texts.findIndex((tokens) => tokens.length > context);
  if (tooLong >= 0) {
    throw new KitError(
      "REQUEST_INVALID",
      `Shorten the prompt or choices[${tooLong}]: together they have ${texts[tooLong]?.length} tokens, and this model's maximum context length is ${context} tokens.`,
      { fault: asked.fault },
    );
  }
  // A token may span the end of the prompt and the start of an answer: measure from before it.
  const from = Math.max(1, Math.min(...texts.map((tokens) => commonLength(prompt, tokens))));
  const paths = texts.map((tokens) => pathOf(tokens, from));
  const found = new Map<string, Following>();
  for (const { key, next } of paths.flat()) {
    const following = found.get(key) ?? new Map();
    found.set(key, following.set(next, { sum: 0 }));
  }
  const [first, ...others] = readersOf(texts, paths, from, (key, next) =>
    measureAll(next, found.get(key)!, asked),
  );
  // The others reuse the keys and values that the first has computed for the prompt.
  if (first) await read(first);
  await Promise.all(others.map(read));
  const steps = paths.map((path) => path.map(({ key, next }) => found.get(key)!.get(next)!));
  const sums = steps.map((path) => path.reduce((all, { sum }) => all + sum, 0));
  const best = sums.indexOf(Math.max(...sums));
  const masses = sums.map((sum) => Math.exp(sum - sums[best]!));
  const total = masses.reduce((all, mass) => all + mass, 0);
  const measured = steps[best]!.flatMap((step) => step.measured ?? []);
  return {
    text: choices[best]!,
    finishReason: "stop",
    promptTokens: prompt.length,
    tokens: texts[best]!.length - from,
    choices: choices.map((text, i) => ({ text, probability: masses[i]! / total })),
    ...(logprobs !== undefined && { logprobs: measured }),
  };
}

/** What to measure of an answer: the token that follows each of its prefixes. */
interface Step {
  /** The prefix; answers that begin alike share it. */
  key: string;
  next: number;
}

function pathOf(tokens: readonly number[], from: number): Step[] {
  return Array.from({ length: tokens.length - from + 1 }, (_, i) => ({
    key: tokens.slice(from, from + i).join(),
    next: tokens[from + i] ?? END,
  }));
}

/** Readers that together visit each prefix once. @param take is called there */
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
      wantedFrom: from - 1 + start,
      asksAny: true,
      take(next: NextToken) {
        take(path[at]!.key, next);
        return ++at === path.length;
      },
    };
  });
}

function measureAll(
  next: NextToken,
  following: Following,
  { tokenizer, ends, logprobs }: Pick<Asked, "tokenizer" | "ends" | "logprobs">,
): void {
  assertTelling(next);
  const { logits } = next;
  const total = next.logTotal();
  const measured = logprobs === undefined ? undefined : measure(next, logprobs, tokenizer);
  for (const token of following.keys()) {
    if (token !== END) {
      following.set(token, { sum: logits[token]! - total, measured: measured?.(token) });
    } else if (ends.length > 0) {
      following.set(END, { sum: logSum(ends.map((end) => logits[end]!)) - total });
    }
  }
}

/** Length of the common prefix, in tokens. */
function commonLength(one: readonly number[], other: readonly number[]): number {
  const differs = one.findIndex((token, i) => token !== other[i]);
  return differs === -1 ? one.length : differs;
}

/** The logarithm of the sum of e^x. */
function logSum(values: readonly number[]): number {
  const highest = Math.max(...values);
  return highest + Math.log(values.reduce((sum, value) => sum + Math.exp(value - highest), 0));
}
