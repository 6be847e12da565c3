import { type RequestFault, KitError } from "../../protocol/error.ts";
import type { InferPiece, InferRequest, InferResult } from "../../protocol/infer.ts";
import { stringifyJson } from "../../protocol/json.ts";
import type { PromptStyle, Tokenizer } from "../tokens/tokenizer.ts";
import { allowedBits } from "./allowedBits.ts";
import { createAnswering } from "./answer.ts";
import { createAskedForms, withoutHiddenTools } from "./askedForm.ts";
import { chooseAnswer } from "./choices.ts";
import { atFault } from "./fault.ts";
import type { Reader } from "./reader.ts";
import { refuseUnwritten } from "./refuseUnwritten.ts";

/** A model that can be asked. */
export interface Generator {
  /** Longest prompt with its answer, in tokens. */
  context: number;
  promptStyle: PromptStyle;
  tokenizer: Tokenizer;
  /** Resolves once the reader has what it wants. */
  read: (reader: Reader) => Promise<void>;
  /** The forms that requests ask for, which models with one tokenizer may share. */
  formOf?: ReturnType<typeof createAskedForms>;
}

/** The caller of a request. */
export interface Asker {
  /** Checked before each step; once aborted, the answer rejects. */
  isCancelled: () => boolean;
  /** Takes the answer's parts as soon as they are known. Default: nobody does. */
  onPiece?: ((piece: InferPiece) => void) | undefined;
}

/** Bits of the tokens that an answer may have, without ids that an undertrained model might pick. */
export function answerTokens({ vocabulary, isTextToken, isStopToken }: Tokenizer): Int32Array {
  return allowedBits(vocabulary, (token) => isTextToken(token) || isStopToken(token));
}

/** Answers requests, as many at once as a step takes; each gets the text that it gets alone. */
export function createAnswers(generator: Generator) {
  const { context, promptStyle, tokenizer } = generator;
  const { formOf = createAskedForms(tokenizer) } = generator;
  const isText = (token: number) => tokenizer.isTextToken(token) || tokenizer.isStopToken(token);
  const ids = Array.from({ length: tokenizer.vocabulary }, (_, id) => id);
  const ends = ids.filter((id) => tokenizer.isStopToken(id));

  /**
   * Continues a conversation or a text.
   * @param asked as `checkRequest` returns it; with `maxTokens: 0`, it is only checked
   * @throws KitError `REQUEST_INVALID` for a prompt that leaves no room, `CHECKPOINT_INVALID` for logits
   * that are not finite
   */
  async function answer(
    asked: InferRequest,
    { isCancelled, onPiece }: Asker,
  ): Promise<InferResult> {
    const request = withoutHiddenTools(asked);
    refuseLongPrompt(request, context);
    refuseUnwritten(request, tokenizer);
    const prompt = tokenizer.promptTokens(request, promptStyle);
    if (prompt.length === 0) {
      throw new KitError(
        "REQUEST_INVALID",
        "Write a prompt: this one has no tokens, and the model has none that begins a text.",
        { fault: { option: request.messages ? "messages" : "prompt" } },
      );
    }
    const room = context - prompt.length;
    if (room < 1) {
      throw new KitError(
        "REQUEST_INVALID",
        `The prompt is too long: its ${prompt.length} tokens leave no room for an answer, and this model's maximum context length is ${context} tokens. Shorten it.`,
        { fault: tooLong(request) },
      );
    }
    const { choices, logprobs, maxTokens } = request;
    const read = (reader: Omit<Reader, "isCancelled">) =>
      maxTokens === 0 ? Promise.resolve() : generator.read({ ...reader, isCancelled });
    if (choices) {
      const begunWith = (text: string) => tokenizer.promptTokens(request, promptStyle, text);
      const chosen = await chooseAnswer({
        choices,
        prompt,
        begunWith,
        context,
        tokenizer,
        ends,
        logprobs,
        read,
        fault: tooLong(request),
      });
      onPiece?.({ text: chosen.text, ...(chosen.logprobs && { logprobs: chosen.logprobs }) });
      return chosen;
    }
    const limit = Math.min(room, maxTokens ?? room);
    const { constraint, calls, markers, fault } = await formOf(request);
    const opening = { request, prompt, limit, tokenizer, constraint, calls };
    const answering = createAnswering(opening, onPiece);
    const marked = constraint || markers.length === 0 ? undefined : withMarkers(markers);
    await read({ ...answering, ...(marked && { allowed: () => marked }) }).catch(
      (error: unknown) => {
        throw atFault(error, fault);
      },
    );
    return answering.result();
  }

  function withMarkers(markers: readonly number[]): Int32Array {
    return allowedBits(tokenizer.vocabulary, (token) => isText(token) || markers.includes(token));
  }

  return { answer };
}

/** Characters that a token of a prompt stands for, on average, at most. Of real texts, it is about four. */
const CHARACTERS_A_TOKEN = 16;

/** Of an error about a prompt that leaves no room for an answer. */
function tooLong({ messages }: Pick<InferRequest, "messages">): RequestFault {
  return { option: messages ? "messages" : "prompt", isTooLong: true };
}

/**
 * Refuses a prompt that is too long before it is split into tokens: that may take time by the square of its length.
 * @param context of the model, in tokens
 * @throws KitError `REQUEST_INVALID`
 */
export function refuseLongPrompt(request: InferRequest, context: number): void {
  const { prompt, messages, tools, chatTemplateKwargs: kwargs } = request;
  const beside = kwargs && stringifyJson(kwargs);
  const length = (prompt ?? stringifyJson([messages, tools]) ?? "").length + (beside ?? "").length;
  const most = context * CHARACTERS_A_TOKEN;
  if (length <= most) return;
  throw new KitError(
    "REQUEST_INVALID",
    `The prompt is too long: it has ${length} characters, of which ${most} may fit, and this model's maximum context length is ${context} tokens. Shorten it.`,
    { fault: tooLong({ messages }) },
  );
}
