import type { ToolCall } from "../../../protocol/chat.ts";
import { KitError } from "../../../protocol/error.ts";
import type { InferPiece, InferRequest, InferResult } from "../../../protocol/infer.ts";
import { createAnswerText } from "../../answers/answerText.ts";
import type { Constraint } from "../../answers/grammar/constraint.ts";
import { createStops } from "../../answers/stops.ts";
import type { CallReader } from "../../answers/tools/callReader.ts";
import { createRandom } from "../../random.ts";
import type { Tokenizer } from "../../tokens/tokenizer.ts";
import type { NextToken } from "./decoder.ts";
import { type Measured, measure } from "./logprobs.ts";
import { sample } from "./sampler.ts";
import type { Reader } from "./scheduler.ts";

/** What an answer is to go on from. */
export interface Opening {
  request: InferRequest;
  /** The tokens of the prompt. */
  prompt: readonly number[];
  /** Of the answer at most, in tokens. */
  limit: number;
  tokenizer: Tokenizer;
  /** What the answer is held to. Default: nothing. */
  constraint?: Constraint | undefined;
  /** Tells calls of tools. Default: there are none. */
  calls?: CallReader | undefined;
}

/** A reader that chooses each token of an answer. */
export interface Answering extends Pick<Reader, "tokens" | "wantedFrom" | "allowed" | "take"> {
  /** Once `take` has said that it has ended. */
  result: () => InferResult;
}

/** @param onPiece takes each part as soon as it is known. Default: nobody listens. */
export function createAnswering(
  { request, prompt, limit, tokenizer, constraint, calls }: Opening,
  onPiece: (piece: InferPiece) => void = () => {},
): Answering {
  const { temperature = 0, topP = 1, seed = 0, stop = [], logprobs: top } = request;
  const random = createRandom(seed, "sample");
  const textOf = createAnswerText(tokenizer);
  const stops = createStops(typeof stop === "string" ? [stop] : stop);
  const tokens = [...prompt];
  const told = { text: "", toolCalls: [] as ToolCall[], logprobs: [] as Measured[] };
  let finishReason: "stop" | "length" = "stop";
  /** Whether the model has ended it. */
  let isWhole = false;

  function tell(more: string, isLast: boolean, logprobs: Measured[] = []): void {
    const read = calls?.push(more) ?? { text: more, toolCalls: [] };
    const text = read.text + (isLast ? (calls?.rest().text ?? "") : "");
    const { toolCalls } = read;
    told.text += text;
    told.toolCalls.push(...toolCalls);
    told.logprobs.push(...logprobs);
    if (text === "" && toolCalls.length === 0 && logprobs.length === 0) return;
    onPiece({
      text,
      ...(toolCalls.length > 0 && { toolCalls }),
      ...(logprobs.length > 0 && { logprobs }),
    });
  }

  function take(next: NextToken): boolean {
    assertTelling(next);
    const measured = top === undefined ? undefined : measure(next, top, tokenizer);
    const token = sample(next, { temperature, topP }, random);
    if (token < 0) throw withoutToken();
    if (tokenizer.isEnd(token)) {
      isWhole = true;
      tell(stops.rest(), true);
      return true;
    }
    tokens.push(token);
    constraint?.accept(token);
    const { text, isStopped } = stops.push(textOf(token));
    isWhole = constraint?.isOver() ?? false;
    const isCutOff = !isStopped && !isWhole && tokens.length - prompt.length === limit;
    if (isCutOff) finishReason = "length";
    const isLast = isStopped || isWhole || isCutOff;
    const rest = isLast && !isStopped ? stops.rest() : "";
    tell(text + rest, isLast, measured && [measured(token)]);
    return isLast;
  }

  function result(): InferResult {
    const { text, toolCalls, logprobs } = told;
    const isCalled = toolCalls.length > 0;
    const hasValue = request.schema !== undefined && isWhole && !isCalled;
    return {
      text,
      finishReason: isCalled && finishReason === "stop" ? "toolCalls" : finishReason,
      ...{ promptTokens: prompt.length, tokens: tokens.length - prompt.length },
      ...(isCalled && { toolCalls }),
      ...(hasValue && { value: JSON.parse(text) as unknown }),
      ...(top !== undefined && { logprobs }),
    };
  }

  return {
    ...{ tokens, wantedFrom: prompt.length - 1, take, result },
    ...(constraint && { allowed: constraint.allowed }),
  };
}

/** A vocabulary that lacks a byte. */
function withoutToken(): KitError {
  return new KitError(
    "REQUEST_INVALID",
    "The model has no token that goes on with what the schema asks for. Change the schema, or use another model.",
  );
}

/**
 * An overflow shows as logits that are not finite or, behind a norm of infinite numbers, all the same.
 * @throws KitError `CHECKPOINT_INVALID`
 */
export function assertTelling({ isTelling }: NextToken): void {
  if (isTelling) return;
  throw new KitError(
    "CHECKPOINT_INVALID",
    "The model computes numbers that are not finite: its weights are too large. Use an earlier checkpoint, or train again with a lower learningRate.",
  );
}
