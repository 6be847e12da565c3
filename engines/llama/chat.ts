import type { ChatMessage } from "../../protocol/infer.ts";
import { encode, SPECIALS, specialText } from "./tokenizer.ts";

/** What a bare prompt is to a model: a user's message, or the start of a text. */
export type PromptStyle = "message" | "text";

/** Tokens, and which of them are learned. */
export interface Example {
  tokens: number[];
  /** As long as `tokens`: 1 where a token is learned from those before it. */
  learned: number[];
}

/**
 * A conversation as the model sees it: `<|bos|>`, then each message as its role's token, its bytes
 * and `<|eos|>`. Only what the assistant says, with its `<|eos|>`, is learned.
 */
export function conversation(messages: ChatMessage[]): Example {
  const example: Example = { tokens: [SPECIALS.bos], learned: [0] };
  for (const { role, content } of messages) {
    const answer = [...encode(content), SPECIALS.eos];
    example.tokens.push(SPECIALS[role], ...answer);
    example.learned.push(0, ...answer.map(() => (role === "assistant" ? 1 : 0)));
  }
  return example;
}

/** A text as the model sees it, all of it learned. */
export function document(text: string): Example {
  const bytes = [...encode(text), SPECIALS.eos];
  return { tokens: [SPECIALS.bos, ...bytes], learned: [0, ...bytes.map(() => 1)] };
}

/** What the model continues with the assistant's next words; a last message of its own is continued. */
export function openConversation(messages: ChatMessage[]): number[] {
  const { tokens } = conversation(messages);
  if (messages.at(-1)?.role === "assistant") return tokens.slice(0, -1);
  return [...tokens, SPECIALS.assistant];
}

/** What the model continues as a text. */
export function openDocument(text: string): number[] {
  return [SPECIALS.bos, ...encode(text)];
}

/** `conversation` and `openConversation` in Jinja, as `transformers` applies it. */
export const CHAT_TEMPLATE =
  "{{ bos_token }}" +
  "{% for message in messages %}" +
  "{{ '<|' + message['role'] + '|>' + message['content'] + eos_token }}" +
  "{% endfor %}" +
  `{% if add_generation_prompt %}{{ '${specialText("assistant")}' }}{% endif %}`;
