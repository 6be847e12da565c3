import { KitError, messageOf } from "../../protocol/error.ts";
import type { ChatMessage } from "../../protocol/infer.ts";
import { createTemplate } from "./jinja.ts";
import { budgetOf } from "./templateBudget.ts";

/** A conversation as a text. @param opens whether an answer is to follow */
export type Render = (messages: readonly ChatMessage[], opens?: boolean) => string;

/**
 * A model's chat template, as `apply_chat_template` of `transformers` renders it.
 * @param specials the texts of `bos_token`, `eos_token` and the like
 * @throws KitError `CHECKPOINT_INVALID` for a template that is not Jinja
 */
export function createRender(
  source: string,
  specials: Record<string, string>,
  path: string,
): Render {
  const template = parsed(source, path);
  return (messages, opens = false) => {
    try {
      return template(
        {
          ...specials,
          ...{ messages, tools: null, documents: null, add_generation_prompt: opens },
        },
        budgetOf(messages),
      );
    } catch (cause) {
      throw new KitError(
        "DATASET_INVALID",
        `The model's chat template refuses a conversation: ${messageOf(cause)}. Change the row's messages, or use a model with another template.`,
        { cause },
      );
    }
  };
}

function parsed(source: string, path: string): ReturnType<typeof createTemplate> {
  try {
    return createTemplate(source);
  } catch (cause) {
    throw new KitError(
      "CHECKPOINT_INVALID",
      `The chat template of ${path} cannot be read: ${messageOf(cause)}. Save or download it again.`,
      { cause },
    );
  }
}

/** The conversation up to the end of its last message's words, which go on. */
export function renderOpen(render: Render, messages: readonly ChatMessage[]): string {
  const last = messages.at(-1);
  if (last?.role !== "assistant") return render(messages, true);
  const text = render(messages);
  const words = last.content.trim();
  const at = text.lastIndexOf(words);
  // A template may trim a message.
  const untrimmed = at + last.content.trimStart().length;
  const isWhole = text.slice(0, untrimmed).endsWith(last.content.trimStart());
  return text.slice(0, isWhole ? untrimmed : at + words.length);
}
