import { setImmediate } from "node:timers/promises";
import { KitError } from "../../../protocol/error.ts";
import type { InferRequest, InferResult } from "../../../protocol/infer.ts";
import { type Random, createRandom } from "../../random.ts";
import type { PromptStyle, Tokenizer } from "../../tokens/tokenizer.ts";
import {
  type Decoder,
  type NextToken,
  type Sequence,
  type StepPart,
  MOST_SEQUENCES,
  MOST_TOKENS,
} from "./decoder.ts";
import { sample } from "./sampler.ts";

/** A model that can be asked. */
export interface Generator {
  /** Longest prompt with its answer, in tokens. */
  context: number;
  promptStyle: PromptStyle;
  tokenizer: Tokenizer;
  decoder: Decoder;
}

/** Masks ids that an undertrained model might pick. */
export function answerTokens({ vocabulary, isSpoken, isEnd }: Tokenizer): Uint8Array {
  return Uint8Array.from({ length: vocabulary }, (_, id) => (isSpoken(id) || isEnd(id) ? 1 : 0));
}

/** Tokens of prompts that a step reads while others wait for their next token, at most. */
const PROMPT_TOKENS = 64;

/** An answer in work. */
interface Run {
  /** The prompt, then the answer so far. */
  tokens: number[];
  promptTokens: number;
  /** Tokens at most. */
  limit: number;
  sampling: { temperature: number; topP: number };
  random: Random;
  /** Undefined while it waits for room. */
  sequence: Sequence | undefined;
  isCancelled: () => boolean;
  resolve: (result: InferResult) => void;
  reject: (error: unknown) => void;
}

/**
 * Answers requests, as many at once as a step takes; each gets the text that it gets alone. Between two steps,
 * requests come and go.
 */
export function createScheduler({ context, promptStyle, tokenizer, decoder }: Generator) {
  const waiting: Run[] = [];
  /** In the order in which they came. */
  let active: Run[] = [];
  let isWorking = false;

  /**
   * Continues a conversation or a text.
   * @param request as `checkRequest` returns it
   * @param isCancelled is asked before each step; it then rejects
   * @throws KitError `REQUEST_INVALID` for a prompt that leaves no room, `CHECKPOINT_INVALID` for logits
   * that are not finite
   */
  function answer(request: InferRequest, isCancelled: () => boolean): Promise<InferResult> {
    const { temperature = 0, topP = 1, seed = 0, maxTokens } = request;
    const tokens = tokenizer.promptTokens(request, promptStyle);
    const room = context - tokens.length;
    if (room < 1) {
      throw new KitError(
        "REQUEST_INVALID",
        `Shorten the prompt: its ${tokens.length} tokens leave no room for an answer in the model's context of ${context}.`,
      );
    }
    return new Promise((resolve, reject) => {
      waiting.push({
        ...{ tokens, promptTokens: tokens.length, limit: Math.min(room, maxTokens ?? room) },
        ...{ sampling: { temperature, topP }, random: createRandom(seed, "sample") },
        ...{ sequence: undefined, isCancelled, resolve, reject },
      });
      if (!isWorking) void work();
    });
  }

  async function work(): Promise<void> {
    isWorking = true;
    // Lets messages in: more requests, and those that cancel some.
    for (await setImmediate(); active.length + waiting.length > 0; await setImmediate()) {
      try {
        dropCancelled();
        step();
      } catch (error) {
        for (const run of [...active]) end(run, () => run.reject(error));
      }
    }
    isWorking = false;
  }

  function dropCancelled(): void {
    const cancelled = new Error("cancelled");
    for (const run of active.filter((run) => run.isCancelled())) {
      end(run, () => run.reject(cancelled));
    }
    for (const run of waiting.filter((run) => run.isCancelled())) {
      waiting.splice(waiting.indexOf(run), 1);
      run.reject(cancelled);
    }
  }

  function step(): void {
    const parts = nextParts();
    const next = decoder.step(parts.map(({ part }) => part));
    parts.forEach(({ run }, i) => {
      const found = next[i];
      if (found) take(run, found);
    });
  }

  /** What the next step reads: a token of each answer, and of prompts as much as there is room for. */
  function nextParts(): { run: Run; part: StepPart }[] {
    const parts: { run: Run; part: StepPart }[] = [];
    const isAnswering = active.some(({ tokens, promptTokens }) => tokens.length > promptTokens);
    let left = isAnswering ? active.length + PROMPT_TOKENS : MOST_TOKENS;
    while (active.length < MOST_SEQUENCES && waiting.length > 0) active.push(waiting.shift()!);
    for (const run of active) {
      if (left === 0 || !active.includes(run)) continue;
      run.sequence ??= decoder.begin(run.tokens);
      const { sequence } = run;
      const unread = run.tokens.length - sequence.length();
      const count = Math.min(unread, left);
      if (!makeRoom(run, sequence, count)) continue;
      const from = sequence.length();
      const tokens = run.tokens.slice(from, from + count);
      parts.push({ run, part: { sequence, tokens, isLast: count === unread } });
      left -= count;
    }
    return parts;
  }

  /** Takes room from those that came last, which read their tokens again when there is some. */
  function makeRoom(run: Run, sequence: Sequence, tokens: number): boolean {
    while (!sequence.grow(tokens)) {
      const last = active.at(-1)!;
      last.sequence?.close();
      last.sequence = undefined;
      active = active.slice(0, -1);
      waiting.unshift(last);
      if (last === run) return false;
    }
    return true;
  }

  /** Chooses the next token of an answer. */
  function take(run: Run, next: NextToken): void {
    if (!next.isTelling) return end(run, () => run.reject(notTelling()));
    const token = sample(next, run.sampling, run.random);
    const answer = () => run.tokens.slice(run.promptTokens);
    const result = (finishReason: InferResult["finishReason"], tokens: readonly number[]) =>
      end(run, () =>
        run.resolve({ text: tokenizer.decode(tokens), finishReason, tokens: tokens.length }),
      );
    if (tokenizer.isEnd(token)) return result("stop", answer());
    run.tokens.push(token);
    if (run.tokens.length - run.promptTokens === run.limit) result("length", answer());
  }

  function end(run: Run, settle: () => void): void {
    run.sequence?.close();
    active = active.filter((other) => other !== run);
    settle();
  }

  return { answer };
}

/** An overflow shows as logits that are not finite or, behind a norm of infinite numbers, all the same. */
function notTelling(): KitError {
  return new KitError(
    "CHECKPOINT_INVALID",
    "The model computes numbers that are not finite: its weights are too large. Use an earlier checkpoint, or train again with a lower learningRate.",
  );
}
