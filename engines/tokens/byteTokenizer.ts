import { asMessage } from "../../protocol/chat.ts";
import { openConversation, openDocument, spansOf } from "./byteChat.ts";
import { BYTES, SPECIALS, VOCABULARY, decode, encode, specialText } from "./byteTokens.ts";
import { withoutTools } from "./chatTemplate.ts";
import { isReasoning } from "./droppedParts.ts";
import { plainMarkup } from "./markup.ts";
import type { Tokenizer } from "./tokenizer.ts";

const NAMES = Object.keys(SPECIALS) as (keyof typeof SPECIALS)[];

/** Kit's own tokenizer: a text's UTF-8 bytes, and special tokens that no text can spell. */
export const BYTE_TOKENIZER: Tokenizer = {
  vocabulary: VOCABULARY,
  hasTemplate: true,
  sequencesOf: (row) => [spansOf(row)],
  promptTokens({ messages, tools, prompt = "", raw }, style, answerStart = "") {
    if (tools) throw withoutTools();
    const open = () => {
      if (messages) return openConversation(messages.map(asMessage));
      if (raw || style === "text") return openDocument(prompt);
      return openConversation([{ role: "user", content: prompt }]);
    };
    return [...open(), ...encode(answerStart)];
  },
  decode,
  bytesOf: (token) => (token < BYTES ? Uint8Array.of(token) : encode(nameOf(token))),
  dropsSpace: false,
  callsText: () => undefined,
  markup: plainMarkup(NAMES.map(specialText)),
  isDropped: isReasoning,
  readsVariable: () => false,
  show: (tokens) =>
    tokens.every((token) => token < BYTES) ? decode(tokens) : tokens.map(nameOf).join(""),
  isSpecial: (token) => token >= BYTES,
  stopTokens: [SPECIALS.eos],
  isStopToken: (token) => token === SPECIALS.eos,
  isTextToken: (token) => token < BYTES,
};

function nameOf(token: number): string {
  const name = NAMES.find((name) => SPECIALS[name] === token);
  return name === undefined ? "" : specialText(name);
}
