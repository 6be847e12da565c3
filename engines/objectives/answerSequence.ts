import type { Message, TemplateInput } from "../../protocol/chat.ts";
import { KitError } from "../../protocol/error.ts";
import type { Span, Tokenizer } from "../tokens/tokenizer.ts";

interface Answered extends TemplateInput {
  prompt: readonly Message[];
  answer: readonly Message[];
}

/**
 * A prompt with one of its answers, as the model sees it.
 * @throws KitError `DATASET_INVALID` for an answer of several turns if the template renders only the last
 */
export function answerSequence(
  { prompt, answer, ...beside }: Answered,
  tokenizer: Tokenizer,
): readonly Span[] {
  const [question, ...before] = prompt;
  const [reply, ...after] = answer;
  const isOne = before.length === 0 && after.length === 0 && !beside.tools && !reply?.tool_calls;
  if (isOne && question?.role === "user" && tokenizer.markup.isRendered(question.content ?? "")) {
    const row = { prompt: question.content ?? "", completion: reply?.content ?? "" };
    return tokenizer.sequencesOf(row)[0] ?? [];
  }
  const messages = [...prompt, ...answer];
  const [sequence = [], ...more] = tokenizer.sequencesOf({ messages, ...beside });
  if (more.length === 0) return sequence;
  throw new KitError(
    "DATASET_INVALID",
    "the model's chat template rewrites earlier turns, so an answer must be one message. Move the turns before it to the prompt.",
  );
}
