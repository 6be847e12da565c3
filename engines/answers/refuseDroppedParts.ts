import { asMessage } from "../../protocol/chat.ts";
import { KitError } from "../../protocol/error.ts";
import type { InferRequest } from "../../protocol/infer.ts";
import { adviceOn, nameOf, partsOf } from "../tokens/droppedParts.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";

/** Ignoring this variable is harmless: a template that doesn't read it has no reasoning to shorten. */
const REASONING_EFFORT = "reasoning_effort";

/** @throws KitError `REQUEST_INVALID` for a part of a message or a variable that the chat template would silently drop */
export function refuseDroppedParts(
  { messages = [], chatTemplateKwargs = {}, lenient }: InferRequest,
  { isDropped, readsVariable }: Pick<Tokenizer, "isDropped" | "readsVariable">,
): void {
  if (lenient) return;
  for (const [name, value] of Object.entries(chatTemplateKwargs)) {
    if (isOff(value) || name === REASONING_EFFORT || readsVariable(name)) continue;
    throw new KitError(
      "REQUEST_INVALID",
      `The model's chat template does not read ${JSON.stringify(name)}. Leave it out, or use a model whose template does.`,
      { fault: { option: `chatTemplateKwargs.${name}` } },
    );
  }
  for (const [index, message] of messages.entries()) {
    const part = partsOf(asMessage(message), index).find(isDropped);
    if (part === undefined) continue;
    const option = `messages[${index}]`;
    throw new KitError(
      "REQUEST_INVALID",
      `The model's chat template leaves out ${nameOf(part)} in ${option}: ${adviceOn(part, isDropped)}.`,
      { fault: { option } },
    );
  }
}

/** Whether a variable is off, such as `enable_thinking: false`, so ignoring it is harmless. */
function isOff(value: unknown): boolean {
  if (typeof value === "object") return Object.keys(value ?? {}).length === 0;
  return !value || value === "none";
}
