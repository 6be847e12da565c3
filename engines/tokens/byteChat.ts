import { type Message, isLearned } from "../../protocol/chat.ts";
import type { Row } from "../dataset/row.ts";
import { assertHasPrompt } from "./answerMask.ts";
import { encode, SPECIALS, specialText } from "./byteTokens.ts";
import { withoutTools } from "./chatTemplate.ts";
import type { Span } from "./tokenizer.ts";

/**
 * A conversation as the model sees it: `<|bos|>`, then each message as its role's token, its bytes and
 * `<|eos|>`. Only assistant messages, with their `<|eos|>`, are learned.
 */
export function conversation(messages: readonly Message[]): Span[] {
  const spans = [special("bos")];
  for (const message of messages) {
    const mask = { isLearned: isLearned(message) };
    spans.push(
      special(roleOf(message)),
      { tokens: encode(message.content ?? ""), ...mask },
      { tokens: SPECIAL_TOKENS.eos, ...mask },
    );
  }
  return spans;
}

/** @throws KitError `DATASET_INVALID` for tool calls and results */
function roleOf({ role, tool_calls: calls }: Message): "system" | "user" | "assistant" {
  if (role === "tool" || calls) throw withoutTools();
  return role === "developer" ? "system" : role;
}

/** A document as the model sees it. All of it is learned. */
function document(text: string): Span[] {
  return [
    special("bos"),
    { tokens: encode(text), isLearned: true },
    { ...special("eos"), isLearned: true },
  ];
}

/**
 * A row as the model sees it, untruncated.
 * @throws KitError `DATASET_INVALID` for tools, and that of `assertHasPrompt`
 */
export function spansOf(row: Row): Span[] {
  if ("text" in row) return document(row.text);
  if (row.tools) throw withoutTools();
  if ("messages" in row) {
    assertHasPrompt(row.messages);
    return conversation(row.messages);
  }
  return conversation([
    { role: "user", content: row.prompt },
    { role: "assistant", content: row.completion },
  ]);
}

function special(name: keyof typeof SPECIAL_TOKENS): Span {
  return { tokens: SPECIAL_TOKENS[name], isLearned: false };
}

const SPECIAL_TOKENS = {
  bos: Uint16Array.of(SPECIALS.bos),
  eos: Uint16Array.of(SPECIALS.eos),
  system: Uint16Array.of(SPECIALS.system),
  user: Uint16Array.of(SPECIALS.user),
  assistant: Uint16Array.of(SPECIALS.assistant),
} as const;

/** The prompt of an answer. A final assistant message is left unfinished, for the answer to continue. */
export function openConversation(messages: readonly Message[]): number[] {
  const tokens = conversation(messages).flatMap(({ tokens }) => [...tokens]);
  if (messages.at(-1)?.role === "assistant") return tokens.slice(0, -1);
  return [...tokens, SPECIALS.assistant];
}

/** A prompt that is plain text. */
export function openDocument(text: string): number[] {
  return [SPECIALS.bos, ...encode(text)];
}

/** The same format as a Jinja template, for `transformers`. */
export const CHAT_TEMPLATE =
  "{{ bos_token }}" +
  "{% for message in messages %}" +
  "{{ '<|' + message['role'] + '|>' + message['content'] + eos_token }}" +
  "{% endfor %}" +
  `{% if add_generation_prompt %}{{ '${specialText("assistant")}' }}{% endif %}`;
