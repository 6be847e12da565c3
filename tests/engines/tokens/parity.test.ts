import { describe, expect, test } from "vitest";
import { openTokenizer } from "../../../engines/checkpoint/savedTokenizer.ts";
import { scratchDirectory } from "../embedded/scratch.ts";
import { blocksOf, createSource } from "./source.ts";
import { type Style, STYLES, writeTokenizer } from "./styles.ts";

/** Blocks that are compared; all of them with `KIT_TOKENS=all`. */
const [TEXT_BLOCKS, CONVERSATION_BLOCKS] = process.env["KIT_TOKENS"] === "all" ? [100, 10] : [5, 1];

function tokenizerOf(style: Style) {
  const path = scratchDirectory();
  writeTokenizer(path, style);
  return openTokenizer(path, style.size).tokenizer;
}

describe.each(Object.entries(STYLES))("of a tokenizer like %s's", (_, style) => {
  test("the ids of texts are Python's, and so is what they decode to", () => {
    const { promptTokens, decode, show } = tokenizerOf(style);
    const source = createSource(1);
    const [begin] = promptTokens({ prompt: "" }, "text");
    const read = () => {
      const prompt = source.text();
      const ids = promptTokens({ prompt }, "text");
      // Python begins a text twice that begins so itself.
      const isBegun = begin !== undefined && prompt.startsWith(show([begin]));
      return isBegun ? [begin, ...ids] : ids;
    };
    expect(blocksOf(TEXT_BLOCKS, read)).toEqual(style.texts.slice(0, TEXT_BLOCKS));
    const again = createSource(1);
    const written = () => decode(promptTokens({ prompt: again.text() }, "text"));
    expect(blocksOf(TEXT_BLOCKS, written)).toEqual(style.decoded.slice(0, TEXT_BLOCKS));
  });

  test("the ids of conversations, and which are learned, are Python's", () => {
    const { sequencesOf } = tokenizerOf(style);
    const source = createSource(2);
    const read = () => {
      const spans = sequencesOf({ messages: source.conversation() })[0]!;
      const ids = spans.flatMap(({ tokens }) => [...tokens]);
      return [ids, spans.flatMap(({ tokens, isLearned }) => [...tokens].map(() => +isLearned))];
    };
    const expected = style.conversations.slice(0, CONVERSATION_BLOCKS);
    expect(blocksOf(CONVERSATION_BLOCKS, read)).toEqual(expected);
  });
});
