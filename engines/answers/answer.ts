import { KitError } from "../../protocol/error.ts";
import type { InferDelta, InferRequest, InferResult } from "../../protocol/infer.ts";
import { createRandom } from "../dataset/random.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import { createAnswerAssembler } from "./answerAssembler.ts";
import type { Constraint } from "./grammar/constraint.ts";
import { copyLogprobs } from "./logprobs.ts";
import type { NextToken, Reader } from "./reader.ts";
import { sample } from "./sampler.ts";
import type { CallReader } from "./tools/callReader.ts";

/** A request that is ready to be answered. */
export interface AnswerInput {
  request: InferRequest;
  /** The tokens of the prompt. */
  prompt: readonly number[];
  /** Maximum tokens of the answer. */
  limit: number;
  tokenizer: Tokenizer;
  /** Default: unconstrained. */
  constraint?: Constraint | undefined;
  /** Extracts tool calls. Default: no tools. */
  callReader?: CallReader | undefined;
}

/** A reader that chooses each token of an answer. */
export interface Generation extends Pick<
  Reader,
  "tokens" | "logitsFrom" | "prepare" | "allowed" | "take"
> {
  /** Valid once `take` has returned true. */
  result: () => InferResult;
}

/** @param onDelta called with each delta of the answer */
export function createGeneration(
  { request, prompt, limit, tokenizer, constraint, callReader }: AnswerInput,
  onDelta: (delta: InferDelta) => void = () => {},
): Generation {
  const { temperature = 0, topP = 1, seed = 0, logprobs: topCount } = request;
  const random = createRandom(seed, "sample");
  const textOf = createAnswerText(tokenizer);
  const assembler = createAnswerAssembler(request, callReader, onDelta);
  const tokens = [...prompt];

  function take(next: NextToken): boolean {
    assertNotDegenerate(next);
    const logprobOf = topCount === undefined ? undefined : copyLogprobs(next, topCount, tokenizer);
    const token = sample(next, { temperature, topP }, random);
    if (token < 0) throw noTokenError();
    if (tokenizer.isStopToken(token)) return end("stop");
    tokens.push(token);
    constraint?.accept(token);
    if (assembler.add(textOf(token), logprobOf?.(token))) return true;
    if (constraint?.isComplete()) return end("stop");
    return tokens.length - prompt.length === limit && end("length");
  }

  function end(reason: "stop" | "length"): true {
    assembler.end(reason);
    return true;
  }

  return {
    tokens,
    logitsFrom: prompt.length - 1,
    take,
    ...(constraint && { prepare: constraint.prepare, allowed: constraint.allowed }),
    result: () => assembler.result(prompt.length),
  };
}

/** The error if no token may follow: the vocabulary lacks a byte that the constraint requires. */
function noTokenError(): KitError {
  return new KitError(
    "REQUEST_INVALID",
    "The model has no token that continues the answer as the schema requires. Change the schema, or use another model.",
  );
}

/**
 * Overflow makes logits infinite or NaN. If a norm has infinite input, they are all equal.
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
  let hasStarted = !dropsSpace;
  return (token) => {
    const text = decoder.decode(bytesOf(token), { stream: true });
    if (hasStarted || text === "") return text;
    hasStarted = true;
    return text.startsWith(" ") ? text.slice(1) : text;
  };
}
