import { KitError } from "../../protocol/error.ts";
import type { InferDelta, InferRequest, InferResult } from "../../protocol/infer.ts";
import { createRandom } from "../dataset/random.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import { createAnswerParts } from "./answerParts.ts";
import type { Constraint } from "./grammar/constraint.ts";
import { measure } from "./logprobs.ts";
import type { NextToken, Reader } from "./reader.ts";
import { sample } from "./sampler.ts";
import type { CallReader } from "./tools/callReader.ts";

/** What an answer is generated from. */
export interface AnswerInput {
  request: InferRequest;
  /** The tokens of the prompt. */
  prompt: readonly number[];
  /** Limit of the answer, in tokens. */
  limit: number;
  tokenizer: Tokenizer;
  /** Default: unconstrained. */
  constraint?: Constraint | undefined;
  /** Extracts tool calls. Default: no tools. */
  calls?: CallReader | undefined;
}

/** A reader that chooses each token of an answer. */
export interface Generation extends Pick<
  Reader,
  "tokens" | "logitsFrom" | "prepare" | "allowed" | "take"
> {
  /** Valid once `take` has returned true. */
  result: () => InferResult;
}

/** @param onDelta takes each delta of the answer */
export function createGeneration(
  { request, prompt, limit, tokenizer, constraint, calls }: AnswerInput,
  onDelta: (delta: InferDelta) => void = () => {},
): Generation {
  const { temperature = 0, topP = 1, seed = 0, logprobs: top } = request;
  const random = createRandom(seed, "sample");
  const textOf = createAnswerText(tokenizer);
  const parts = createAnswerParts(request, calls, onDelta);
  const tokens = [...prompt];

  function take(next: NextToken): boolean {
    assertNotDegenerate(next);
    const measured = top === undefined ? undefined : measure(next, top, tokenizer);
    const token = sample(next, { temperature, topP }, random);
    if (token < 0) throw withoutToken();
    if (tokenizer.isStopToken(token)) return ended("stop");
    tokens.push(token);
    constraint?.accept(token);
    if (parts.take(textOf(token), measured?.(token))) return true;
    if (constraint?.isComplete()) return ended("stop");
    return tokens.length - prompt.length === limit && ended("length");
  }

  function ended(reason: "stop" | "length"): true {
    parts.end(reason);
    return true;
  }

  return {
    tokens,
    logitsFrom: prompt.length - 1,
    take,
    ...(constraint && { prepare: constraint.prepare, allowed: constraint.allowed }),
    result: () => parts.result(prompt.length),
  };
}

/** The error for a vocabulary that lacks a needed byte. */
function withoutToken(): KitError {
  return new KitError(
    "REQUEST_INVALID",
    "The model has no token that continues the answer as the schema requires. Change the schema, or use another model.",
  );
}

/**
 * Overflow makes logits infinite or NaN, or all equal after a norm of infinite numbers.
 * @throws KitError `CHECKPOINT_INVALID`
 */
export function assertNotDegenerate({ isDegenerate }: NextToken): void {
  if (!isDegenerate) return;
  throw new KitError(
    "CHECKPOINT_INVALID",
    "The model's logits are not finite: its weights are too large. Use an earlier checkpoint, or train again with a lower learningRate.",
  );
}

/**
 * Decodes an answer token by token, never splitting a character.
 * @returns a function that takes the next token and returns the text that it completes. Malformed bytes become U+FFFD;
 * an incomplete character at the end is dropped
 */
export function createAnswerText({ bytesOf, dropsSpace }: Tokenizer): (token: number) => string {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let isBegun = !dropsSpace;
  return (token) => {
    const text = decoder.decode(bytesOf(token), { stream: true });
    if (isBegun || text === "") return text;
    isBegun = true;
    return text.startsWith(" ") ? text.slice(1) : text;
  };
}
