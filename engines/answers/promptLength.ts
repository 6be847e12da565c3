import { type RequestFault, KitError } from "../../protocol/error.ts";
import type { InferRequest } from "../../protocol/infer.ts";
import { stringifyJson } from "../../protocol/json.ts";

/** Characters that a token of a prompt stands for, on average, at most. Of real texts, it is about four. */
const CHARACTERS_A_TOKEN = 16;

/** Of an error about a prompt that leaves no room for an answer. */
export function tooLong({ messages }: Pick<InferRequest, "messages">): RequestFault {
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
