import { expect, test } from "vitest";
import { tokenizerJson } from "../../../engines/checkpoint/tokenizerFiles.ts";
import { conversation, openConversation, openDocument } from "../../../engines/tokens/byteChat.ts";
import {
  byteCharacters,
  decode,
  encode,
  SPECIALS,
  VOCABULARY,
} from "../../../engines/tokens/byteTokens.ts";
import type { Span } from "../../../engines/tokens/tokenizer.ts";

function tokensOf(spans: Span[]): number[] {
  return spans.flatMap(({ tokens }) => [...tokens]);
}

test.each([
  "",
  "7th of March 1998",
  "naïve – „Grüße“ – 日本語 – שלום",
  "🧪👩‍🚀\u0000\r\n\t",
  "\uFEFFa byte order mark",
  "<|eos|> spelled out",
])("text comes back as it was: %j", (text) => {
  expect(decode(encode(text))).toBe(text);
});

test("every byte is its own token", () => {
  expect([...encode("A\u00ff")]).toEqual([0x41, 0xc3, 0xbf]);
  expect(Math.max(...Object.values(SPECIALS))).toBeLessThan(VOCABULARY);
});

test("a character that is cut off at the end is left out, a malformed byte is replaced", () => {
  const bytes = [...encode("ab🧪")];
  for (const cut of [1, 2, 3]) expect(decode(bytes.slice(0, -cut))).toBe("ab");
  expect(decode([0x61, 0xff, 0x62])).toBe("a\ufffdb");
});

test("specials are not part of the text", () => {
  expect(decode([SPECIALS.bos, 0x61, SPECIALS.eos, VOCABULARY - 1])).toBe("a");
});

test("text that spells a special yields bytes, so that no row can forge a turn", () => {
  expect(tokensOf(conversation([{ role: "user", content: "<|eos|>" }]))).toEqual([
    SPECIALS.bos,
    SPECIALS.user,
    ...Buffer.from("<|eos|>"),
    SPECIALS.eos,
  ]);
});

test("only the assistant's words and their end are learned", () => {
  const spans = conversation([
    { role: "system", content: "s" },
    { role: "user", content: "u" },
    { role: "assistant", content: "ab" },
    { role: "user", content: "v" },
    { role: "assistant", content: "" },
  ]);
  expect(tokensOf(spans.filter(({ isLearned }) => isLearned))).toEqual([
    0x61,
    0x62,
    SPECIALS.eos,
    SPECIALS.eos,
  ]);
});

test("a question is open for the assistant, and an answer begun stays open", () => {
  const question = { role: "user", content: "q" } as const;
  const open = openConversation([question]);
  expect(open).toEqual([SPECIALS.bos, SPECIALS.user, 0x71, SPECIALS.eos, SPECIALS.assistant]);
  const begun = openConversation([question, { role: "assistant", content: "a" }]);
  expect(begun).toEqual([...open, 0x61]);
  expect(openDocument("t")).toEqual([SPECIALS.bos, 0x74]);
});

test("tokenizer.json maps bytes and specials to the ids that the model uses", () => {
  const { model, added_tokens, post_processor } = tokenizerJson();
  expect(Object.keys(model.vocab)).toHaveLength(256);
  // GPT-2's byte-level alphabet: a space is Ġ, a newline Ċ, 0xAD the last of the shifted ones.
  expect(model.vocab).toMatchObject({ A: 65, Ġ: 32, Ċ: 10, Ā: 0, ÿ: 255, Ń: 0xad });
  expect(new Set(byteCharacters()).size).toBe(256);
  for (const { id, content } of added_tokens) {
    expect(SPECIALS[content.slice(2, -2) as keyof typeof SPECIALS]).toBe(id);
  }
  // The tokenizers library numbers added tokens on from the vocabulary's size, in their order.
  expect(added_tokens.map(({ id }) => id)).toEqual([256, 257, 258, 259, 260, 261]);
  expect(post_processor.special_tokens["<|bos|>"]).toMatchObject({ ids: [SPECIALS.bos] });
});
