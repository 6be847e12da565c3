import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { openTokenizer } from "../../../engines/checkpoint/savedTokenizer.ts";
import type { ChatMessage } from "../../../protocol/infer.ts";
import { scratchDirectory } from "../embedded/scratch.ts";
import { type Style, FRAGMENTS, STYLES, writeTokenizer } from "./styles.ts";

const BLOCK = 100;
/** Blocks that are compared; all of them with `KIT_TOKENS=all`. */
const [TEXT_BLOCKS, CONVERSATION_BLOCKS] = process.env["KIT_TOKENS"] === "all" ? [100, 10] : [5, 1];

/** The texts that `tokens.py` makes. */
function createSource(seed: number) {
  let state = seed;
  function below(count: number): number {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) % count;
  }
  function text(): string {
    const count = 1 + below(14);
    return Array.from({ length: count }, () => FRAGMENTS[below(FRAGMENTS.length)]).join("");
  }
  function conversation(): ChatMessage[] {
    const messages: ChatMessage[] = [];
    if (below(3) === 0) messages.push({ role: "system", content: text() });
    for (let turns = 1 + below(3); turns > 0; turns--) {
      messages.push({ role: "user", content: text() });
      messages.push({ role: "assistant", content: text() });
    }
    return messages;
  }
  return { text, conversation };
}

function blocksOf<T>(count: number, make: () => T): string[] {
  return Array.from({ length: count }, () => {
    const values = Array.from({ length: BLOCK }, make);
    return createHash("sha256").update(JSON.stringify(values)).digest("hex").slice(0, 16);
  });
}

function tokenizerOf(style: Style) {
  const path = scratchDirectory();
  writeTokenizer(path, style);
  return openTokenizer(path, style.size).tokenizer;
}

describe.each(Object.entries(STYLES))("of a tokenizer like %s's", (_, style) => {
  test("the ids of texts are Python's, and so is what they decode to", () => {
    const { promptTokens, decode } = tokenizerOf(style);
    const ids = createSource(1);
    const read = () => promptTokens({ prompt: ids.text() }, "text");
    expect(blocksOf(TEXT_BLOCKS, read)).toEqual(style.texts.slice(0, TEXT_BLOCKS));
    const again = createSource(1);
    const written = () => decode(promptTokens({ prompt: again.text() }, "text"));
    expect(blocksOf(TEXT_BLOCKS, written)).toEqual(style.decoded.slice(0, TEXT_BLOCKS));
  });

  test("the ids of conversations, and which are learned, are Python's", () => {
    const { spansOf } = tokenizerOf(style);
    const source = createSource(2);
    const read = () => {
      const spans = spansOf({ messages: source.conversation() });
      const ids = spans.flatMap(({ tokens }) => [...tokens]);
      return [ids, spans.flatMap(({ tokens, isLearned }) => [...tokens].map(() => +isLearned))];
    };
    const expected = style.conversations.slice(0, CONVERSATION_BLOCKS);
    expect(blocksOf(CONVERSATION_BLOCKS, read)).toEqual(expected);
  });
});
