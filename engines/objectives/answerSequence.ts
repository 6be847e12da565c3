import type { Message, TemplateInput } from "../../protocol/chat.ts";
import { KitError } from "../../protocol/error.ts";
import type { Span, Tokenizer } from "../tokens/tokenizer.ts";

interface PromptAndAnswer extends TemplateInput {
  prompt: readonly Message[];
  answer: readonly Message[];
}

/**
 * The tokens of a prompt and its answer. A prompt that already has the chat template's markup isn't templated again.
 * @throws KitError `DATASET_INVALID` for an answer of several turns if the template renders only the last
 */
export function answerSequence(
  { prompt, answer, ...others }: PromptAndAnswer,
  tokenizer: Tokenizer,
): readonly Span[] {
  const [question] = prompt;
  const [reply] = answer;
  const isPlain = prompt.length === 1 && answer.length === 1 && !others.tools && !reply?.tool_calls;
  if (isPlain && question?.role === "user" && tokenizer.markup.isRendered(question.content ?? "")) {
    const row = { prompt: question.content ?? "", completion: reply?.content ?? "" };
    return tokenizer.sequencesOf(row)[0] ?? [];
  }
  const messages = [...prompt, ...answer];
  const [sequence = [], ...more] = tokenizer.sequencesOf({ messages, ...others });
  if (more.length === 0) return sequence;
  throw new KitError(
    "DATASET_INVALID",
    "the model's chat template rewrites earlier turns, so an answer must be one message. Move the turns before it to the prompt.",
  );
}
