import { openCheckpoint } from "../engines/checkpoint/checkpoint.ts";
import { createRandom } from "../engines/dataset/random.ts";
import type { InferRequest } from "../protocol/infer.ts";

/** The work of one process that answers: `programs/answer.ts`, `programs/llama.ts`. */
export interface AnswerSizes {
  /** A checkpoint's directory. */
  model: string;
  /** A type of weights; undefined: the checkpoint's own. */
  quantize: "q8_0" | "q4_0" | undefined;
  threads: number;
  /** Tokens of a prompt. */
  prompt: number;
  /** Tokens of an answer. */
  answer: number;
  /** Answers at once, each to a prompt of its own. */
  sequences: number;
}

/** What `programs/llama.ts` needs besides. */
export interface LlamaSizes extends AnswerSizes {
  /** The folder that `node-llama-cpp` is installed in. */
  folder: string;
  /** A GGUF file of the model. */
  file: string;
}

/**
 * The best of a process's pieces of work so far: what else the machine does makes work slower only. Of
 * one thread's work the processor's time, otherwise the clock's.
 */
export interface AnswerTimes {
  /** From the prompts to the first token of each answer, in ms. */
  first: number;
  /** For each token after the first, of all answers together, in ms. NaN for answers of one token. */
  token: number;
  /** By how much the process has grown since before it loaded the model, in MB. */
  grown: number;
  /** The file of llama.cpp's kernels. */
  kernels?: string;
}

/** A prompt, as Kit and as llama.cpp take it. */
export interface Prompt {
  request: InferRequest;
  ids: number[];
}

/** Each a token with the space before it. */
const WORDS =
  "time year people way day man thing woman life child world school state family student group country problem hand part place case week company system program question work government number night point home water room mother area money story fact month lot right study book eye job word business issue side kind head house service friend father power hour game line end member law car city community name president team minute idea body information back parent face others level office door health person art war history party result change morning reason research girl guy moment air teacher force education".split(
    " ",
  );
/** Tokens of an answer that is not timed. */
const WARM_UP = 16;
/** Prompts that are tried for an answer of at least half the length. */
const TRIALS = 12;
const QUESTION = "Tell me a very long story.";

/**
 * Makes prompts of so many tokens, no two alike after their first few: nothing that was kept of an
 * earlier one helps. Of a tokenizer with other words, prompts are at most as long.
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
 * Times pieces of work: answers of one token, then of many, to prompts of their own. The difference is
 * that of the tokens.
 * @param answer gives an answer of so many tokens at most to each of its prompts; @returns their tokens
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
  /** Some prompts have short answers, which tell little of a token. */
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
    // V8 optimizes meanwhile.
    if (first === Infinity) await timed(Math.min(length, WARM_UP));
    first = Math.min(first, (await timed(1)).ms);
    if (length === 1) return { first, token: NaN };
    answers.push(await timedLong());
    // By the first of all, since one that was slow would make the tokens fast.
    const each = answers.map(({ ms, tokens }) => (ms - first) / (tokens - sequences));
    return { first, token: Math.min(...each) };
  };
}

/** Other work on the machine does not lengthen a thread's processor time. */
function now(threads: number): number {
  const { user, system } = process.cpuUsage();
  return threads === 1 ? (user + system) / 1000 : performance.now();
}
