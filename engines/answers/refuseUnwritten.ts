import { asMessage } from "../../protocol/chat.ts";
import { KitError } from "../../protocol/error.ts";
import type { InferRequest } from "../../protocol/infer.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import { adviceOn, nameOf, partsOf } from "../tokens/unwritten.ts";

/** @throws KitError `REQUEST_INVALID` for a part of a message that the chat template would leave out without a word */
export function refuseUnwritten(
  { messages = [], lenient }: InferRequest,
  { isUnwritten }: Pick<Tokenizer, "isUnwritten">,
): void {
  for (const [at, message] of lenient ? [] : messages.entries()) {
    const part = partsOf(asMessage(message), at).find(isUnwritten);
    if (part === undefined) continue;
    const option = `messages[${at}]`;
    throw new KitError(
      "REQUEST_INVALID",
      `The model's chat template leaves out ${nameOf(part)} in ${option}: ${adviceOn(part, isUnwritten)}.`,
      { fault: { option } },
    );
  }
}
