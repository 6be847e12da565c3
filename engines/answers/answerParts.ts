import type { ToolCall } from "../../protocol/chat.ts";
import type { InferPiece, InferRequest, InferResult } from "../../protocol/infer.ts";
import { parseJson, withPlainFloats } from "../../protocol/json.ts";
import { createStops } from "./stops.ts";
import { hasOneCall } from "./tools/callGrammar.ts";
import type { CallReader } from "./tools/callReader.ts";

type Logprobs = NonNullable<InferResult["logprobs"]>;

/** Puts an answer together from its tokens, as they come. */
export interface AnswerParts {
  /**
   * Takes a token.
   * @param text that is known with it
   * @returns whether one of the request's stops, or its one call, has ended the answer
   */
  take: (text: string, logprob?: Logprobs[number]) => boolean;
  /** Ends an answer that no stop has ended: the model did, or its length. */
  end: (reason: "stop" | "length") => void;
  /** @param promptTokens a count */
  result: (promptTokens: number) => InferResult;
}

/**
 * @param calls tells calls of tools; undefined where there are none
 * @param onPiece takes each part as soon as it is known. Default: nobody listens.
 */
export function createAnswerParts(
  { stop = [], schema, logprobs: asked, ...request }: InferRequest,
  calls: CallReader | undefined,
  onPiece: (piece: InferPiece) => void = () => {},
): AnswerParts {
  const stops = createStops(typeof stop === "string" ? [stop] : stop);
  const mostCalls = hasOneCall(request) ? 1 : Infinity;
  const told = { text: "", toolCalls: [] as ToolCall[], logprobs: [] as Logprobs };
  let tokens = 0;
  /** Whether the model has ended it. */
  let isWhole = false;
  let finishReason: "stop" | "length" = "stop";

  /** @param end undefined if more may come; cut off is an answer that the model itself has not ended */
  function tell(more: string, end?: "whole" | "cut", logprobs: Logprobs = []): void {
    const read = calls?.push(more) ?? { text: more, toolCalls: [] };
    const text = read.text + (end && calls ? calls.rest(end === "cut").text : "");
    const toolCalls = read.toolCalls.slice(0, mostCalls - told.toolCalls.length);
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

  function take(more: string, logprob?: Logprobs[number]): boolean {
    tokens++;
    const { text, isStopped } = stops.push(more);
    tell(text, isStopped ? "cut" : undefined, logprob && [logprob]);
    return isStopped || told.toolCalls.length === mostCalls;
  }

  function end(reason: typeof finishReason): void {
    tell(stops.rest(), reason === "stop" ? "whole" : "cut");
    isWhole = reason === "stop";
    finishReason = reason;
  }

  function result(promptTokens: number): InferResult {
    const { text, toolCalls, logprobs } = told;
    const isCalled = toolCalls.length > 0;
    const hasValue = schema !== undefined && isWhole && !isCalled;
    return {
      text,
      finishReason: isCalled && finishReason === "stop" ? "toolCalls" : finishReason,
      promptTokens,
      tokens,
      ...(isCalled && { toolCalls }),
      ...(hasValue && { value: valueOf(text) }),
      ...(asked !== undefined && { logprobs }),
    };
  }

  return { take, end, result };
}

/** Cloned, so that it has no key order besides JavaScript's own. */
function valueOf(text: string): unknown {
  return structuredClone(withPlainFloats(parseJson(text)));
}
