import type { ToolCall } from "../../protocol/chat.ts";
import type { InferDelta, InferRequest, InferResult } from "../../protocol/infer.ts";
import { parseJson, withPlainNumbers } from "../../protocol/json.ts";
import { createStops } from "./stops.ts";
import { allowsOneCallAtMost } from "./tools/callGrammar.ts";
import type { CallReader } from "./tools/callReader.ts";

type Logprobs = NonNullable<InferResult["logprobs"]>;

/** Assembles an answer from its tokens. */
export interface AnswerAssembler {
  /**
   * Adds a token.
   * @param text the text that the token completes
   * @returns whether a stop sequence, or the only allowed call, ends the answer
   */
  add: (text: string, logprob?: Logprobs[number]) => boolean;
  /** Ends an answer at a stop token or the length limit. */
  end: (reason: "stop" | "length") => void;
  result: (promptTokens: number) => InferResult;
}

/**
 * @param callReader extracts tool calls; undefined without tools
 * @param onDelta called with each delta of the answer
 */
export function createAnswerAssembler(
  { stop = [], schema, logprobs: logprobCount, ...request }: InferRequest,
  callReader: CallReader | undefined,
  onDelta: (delta: InferDelta) => void = () => {},
): AnswerAssembler {
  const stops = createStops(typeof stop === "string" ? [stop] : stop);
  const maxCalls = allowsOneCallAtMost(request) ? 1 : Infinity;
  const sent = { text: "", toolCalls: [] as ToolCall[], logprobs: [] as Logprobs };
  let tokens = 0;
  /** Whether the model ended the answer itself. */
  let isComplete = false;
  let finishReason: "stop" | "length" = "stop";
  let truncatedCall: ToolCall | undefined;

  /** @param end undefined if more may come; `truncated` if the model didn't end the answer itself */
  function send(more: string, end?: "complete" | "truncated", logprobs: Logprobs = []): void {
    const parsed = callReader?.push(more) ?? { text: more, toolCalls: [] };
    const flushed = end && callReader?.flush(end === "truncated");
    const text = parsed.text + (flushed?.text ?? "");
    truncatedCall = flushed?.truncatedCall;
    const toolCalls = parsed.toolCalls.slice(0, maxCalls - sent.toolCalls.length);
    sent.text += text;
    sent.toolCalls.push(...toolCalls);
    sent.logprobs.push(...logprobs);
    if (text === "" && toolCalls.length === 0 && logprobs.length === 0) return;
    onDelta({
      text,
      ...(toolCalls.length > 0 && { toolCalls }),
      ...(logprobs.length > 0 && { logprobs }),
    });
  }

  function add(more: string, logprob?: Logprobs[number]): boolean {
    tokens++;
    const { text, isStopped } = stops.push(more);
    send(text, isStopped ? "truncated" : undefined, logprob && [logprob]);
    return isStopped || sent.toolCalls.length === maxCalls;
  }

  function end(reason: typeof finishReason): void {
    send(stops.flush(), reason === "stop" ? "complete" : "truncated");
    isComplete = reason === "stop";
    finishReason = reason;
  }

  function result(promptTokens: number): InferResult {
    const { text, toolCalls, logprobs } = sent;
    const hasCalls = toolCalls.length > 0;
    const hasValue = schema !== undefined && isComplete && !hasCalls;
    return {
      text,
      finishReason: hasCalls && finishReason === "stop" ? "toolCalls" : finishReason,
      promptTokens,
      tokens,
      ...(hasCalls && { toolCalls }),
      ...(truncatedCall && finishReason === "length" && { truncatedCall }),
      ...(hasValue && { value: valueOf(text) }),
      ...(logprobCount !== undefined && { logprobs }),
    };
  }

  return { add, end, result };
}

/** Clones the value, because `parseJson` keeps the text's key order under a symbol, which cloning drops. */
function valueOf(text: string): unknown {
  return structuredClone(withPlainNumbers(parseJson(text)));
}
