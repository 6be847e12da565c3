import { type RequestFault, KitError } from "../../protocol/error.ts";
import type { InferDelta, InferRequest, InferResult } from "../../protocol/infer.ts";
import { stringifyJson } from "../../protocol/json.ts";
import type { PromptStyle, Tokenizer } from "../tokens/tokenizer.ts";
import { allowedBits } from "./allowedBits.ts";
import { createGeneration } from "./answer.ts";
import { createAnswerFormats, withoutHiddenTools } from "./answerFormat.ts";
import { chooseAnswer } from "./choices.ts";
import { withFault } from "./fault.ts";
import type { Reader } from "./reader.ts";
import { refuseDroppedParts } from "./refuseDroppedParts.ts";

/** A model that generates answers. */
export interface Generator {
  /** Context length: maximum tokens of prompt and answer. */
  context: number;
  promptStyle: PromptStyle;
  tokenizer: Tokenizer;
  /** Runs the model for a reader. Resolves once the reader is done. */
  read: (reader: Reader) => Promise<void>;
  /** Compiles constraints. Models with the same tokenizer may share it. */
  formatOf?: ReturnType<typeof createAnswerFormats>;
}

export interface AnswerOptions {
  /** Checked before each step; if true, the answer rejects. */
  isCancelled: () => boolean;
  onDelta?: ((delta: InferDelta) => void) | undefined;
}

/** Bitmap of the tokens that answers may contain: all but special and unused ids. */
export function answerTokens({ vocabulary, isTextToken, isStopToken }: Tokenizer): Int32Array {
  return allowedBits(vocabulary, (token) => isTextToken(token) || isStopToken(token));
}

/** Answers requests concurrently; each gets the same text as if it ran alone. */
export function createAnswers(generator: Generator) {
  const { context, promptStyle, tokenizer } = generator;
  const { formatOf = createAnswerFormats(tokenizer) } = generator;
  const isText = (token: number) => tokenizer.isTextToken(token) || tokenizer.isStopToken(token);
  const ids = Array.from({ length: tokenizer.vocabulary }, (_, id) => id);
  const stopTokens = ids.filter((id) => tokenizer.isStopToken(id));

  /**
   * Continues a conversation or a text.
   * @param received a checked request; with `maxTokens: 0`, it is only validated
   * @throws KitError `REQUEST_INVALID` for a prompt that leaves no room, `CHECKPOINT_INVALID` for logits
   * that aren't finite
   */
  async function answer(
    received: InferRequest,
    { isCancelled, onDelta }: AnswerOptions,
  ): Promise<InferResult> {
    const request = withoutHiddenTools(received);
    refuseLongPrompt(request, context);
    refuseDroppedParts(request, tokenizer);
    const prompt = tokenizer.promptTokens(request, promptStyle);
    if (prompt.length === 0) {
      throw new KitError(
        "REQUEST_INVALID",
        "The prompt is empty, and the model has no token that begins a text. Write a prompt.",
        { fault: { option: request.messages ? "messages" : "prompt" } },
      );
    }
    const remaining = context - prompt.length;
    if (remaining < 1) {
      throw new KitError(
        "REQUEST_INVALID",
        `The prompt is too long: its ${prompt.length} tokens leave no room for an answer, and this model's maximum context length is ${context} tokens. Shorten it.`,
        { fault: promptTooLong(request) },
      );
    }
    const { choices, logprobs, maxTokens } = request;
    const read = (reader: Omit<Reader, "isCancelled">) =>
      maxTokens === 0 ? Promise.resolve() : generator.read({ ...reader, onCached, isCancelled });
    let cachedTokens: number | undefined;
    const onCached = (count: number) => (cachedTokens ??= Math.min(count, prompt.length));
    const withCached = (result: InferResult) => ({
      ...result,
      ...(cachedTokens && { cachedTokens }),
    });
    if (choices) {
      const tokensWith = (text: string) => tokenizer.promptTokens(request, promptStyle, text);
      const chosen = await chooseAnswer({
        choices,
        prompt,
        tokensWith,
        context,
        tokenizer,
        stopTokens,
        logprobs,
        read,
        fault: promptTooLong(request),
      });
      onDelta?.({ text: chosen.text, ...(chosen.logprobs && { logprobs: chosen.logprobs }) });
      return withCached(chosen);
    }
    const limit = Math.min(remaining, maxTokens ?? remaining);
    const { constraint, callReader, markers, fault } = await formatOf(request);
    const input = { request, prompt, limit, tokenizer, constraint, callReader };
    const generation = createGeneration(input, onDelta);
    const allowedWithMarkers =
      constraint || markers.length === 0 ? undefined : withMarkers(markers);
    await read({
      ...generation,
      ...(allowedWithMarkers && { allowed: () => allowedWithMarkers }),
    }).catch((error: unknown) => {
      throw withFault(error, fault);
    });
    return withCached(generation.result());
  }

  function withMarkers(markers: readonly number[]): Int32Array {
    return allowedBits(tokenizer.vocabulary, (token) => isText(token) || markers.includes(token));
  }

  return { answer };
}

/** An upper bound: real texts have about four. */
const MAX_CHARACTERS_PER_TOKEN = 16;

/** The fault of a prompt that leaves no room for an answer. */
function promptTooLong({ messages }: Pick<InferRequest, "messages">): RequestFault {
  return { option: messages ? "messages" : "prompt", isTooLong: true };
}

/**
 * Refuses an overlong prompt before tokenizing it, which may take quadratic time.
 * @param context maximum context length, in tokens
 * @throws KitError `REQUEST_INVALID`
 */
export function refuseLongPrompt(request: InferRequest, context: number): void {
  const { prompt, messages, tools, chatTemplateKwargs: kwargs } = request;
  const kwargsText = kwargs && stringifyJson(kwargs);
  const length =
    (prompt ?? stringifyJson([messages, tools]) ?? "").length + (kwargsText ?? "").length;
  const maxLength = context * MAX_CHARACTERS_PER_TOKEN;
  if (length <= maxLength) return;
  throw new KitError(
    "REQUEST_INVALID",
    `The prompt is too long: it has ${length} characters, of which at most ${maxLength} fit, and this model's maximum context length is ${context} tokens. Shorten it.`,
    { fault: promptTooLong({ messages }) },
  );
}
