import { openCheckpoint } from "../engines/checkpoint/checkpoint.ts";
import { createRandom } from "../engines/dataset/random.ts";
import type { InferRequest } from "../protocol/infer.ts";
import { now } from "./statistics.ts";

/** Sizes for a process that answers: `programs/answer.ts`, `programs/llama.ts`. */
export interface AnswerSizes {
  /** A checkpoint's directory. */
  model: string;
  /** Type of the weights. Undefined: the checkpoint's own. */
  quantize: "q8_0" | "q4_0" | undefined;
  threads: number;
  /** Tokens per prompt. */
  prompt: number;
  /** Tokens per answer. */
  answer: number;
  /** Concurrent answers, each to its own prompt. */
  sequences: number;
}

/** Sizes and paths for `programs/llama.ts`. */
export interface LlamaSizes extends AnswerSizes {
  /** The folder that `node-llama-cpp` is installed in. */
  folder: string;
  /** A GGUF file of the model. */
  file: string;
}

/**
 * The best times of a process so far: other work on the machine only slows it. Processor time for one
 * thread, otherwise wall time.
 */
export interface AnswerTimes {
  /** Time to the first token of each answer, in ms. */
  first: number;
  /** Time per token after the first, over all answers, in ms. NaN for answers of one token. */
  token: number;
  /** Growth of the process since before it loaded the model, in MB. */
  grown: number;
  /** Name of llama.cpp's kernels. */
  kernels?: string;
}

/** A prompt, as Kit and as llama.cpp take it. */
export interface Prompt {
  request: InferRequest;
  ids: number[];
}

/** Each is one token with the space before it. */
const WORDS =
  "time year people way day man thing woman life child world school state family student group country problem hand part place case week company system program question work government number night point home water room mother area money story fact month lot right study book eye job word business issue side kind head house service friend father power hour game line end member law car city community name president team minute idea body information back parent face others level office door health person art war history party result change morning reason research girl guy moment air teacher force education".split(
    " ",
  );
/** Tokens of an untimed answer. */
const WARM_UP = 16;
/** Prompts to try for an answer of at least half the length. */
const TRIALS = 12;
const QUESTION = "Tell me a very long story.";

/**
 * Creates prompts of this many tokens that differ after the first few, so that no prefix cache helps. With
 * a tokenizer that splits the words, prompts are shorter.
 */
export function createPrompts(directory: string, length: number): () => Prompt {
  const { tokenizer, promptStyle } = openCheckpoint(directory);
  const random = createRandom(length, "prompts");
  const word = () => WORDS[Math.floor(random.uniform() * WORDS.length)]!;
  const requestOf = (words: string[]): InferRequest => {
    const text = ` ${words.join(" ")}`;
    if (promptStyle === "text") return { prompt: text };
    const messages = [
      { role: "system", content: text },
      { role: "user", content: QUESTION },
    ] as const;
    return { messages };
  };
  return () => {
    const words = Array.from({ length }, word);
    for (;;) {
      const request = requestOf(words);
      const ids = tokenizer.promptTokens(request, promptStyle);
      const tooMany = ids.length - length;
      if (tooMany <= 0 || words.length === 0) return { request, ids };
      words.splice(0, Math.ceil(tooMany / 4));
    }
  };
}

/**
 * Times answers of one token, then of many, each to its own prompt. The difference is the time of the
 * other tokens.
 * @param answer answers each prompt with at most this many tokens; @returns the number of tokens
 */
export function createTimer(
  { sequences, answer: length, threads }: AnswerSizes,
  nextPrompt: () => Prompt,
  answer: (prompts: Prompt[], length: number) => Promise<number>,
): () => Promise<Pick<AnswerTimes, "first" | "token">> {
  async function timed(length: number) {
    const prompts = Array.from({ length: sequences }, nextPrompt);
    const start = now(threads);
    const tokens = await answer(prompts, length);
    return { ms: now(threads) - start, tokens };
  }
  /** Retries when answers are short, because they say little about a token's time. */
  async function timedLong() {
    for (let trial = 1; ; trial++) {
      const whole = await timed(length);
      if (whole.tokens >= (sequences * length) / 2) return whole;
      if (trial === TRIALS) throw new Error(`The answers ended after ${whole.tokens} tokens.`);
    }
  }
  const answers: { ms: number; tokens: number }[] = [];
  let first = Infinity;
  return async () => {
    // Warm up, so that V8 optimizes.
    if (first === Infinity) await timed(Math.min(length, WARM_UP));
    first = Math.min(first, (await timed(1)).ms);
    if (length === 1) return { first, token: NaN };
    answers.push(await timedLong());
    // Subtract the best first token: a slow one would make the others look fast.
    const each = answers.map(({ ms, tokens }) => (ms - first) / (tokens - sequences));
    return { first, token: Math.min(...each) };
  };
}
