import { expect, test } from "vitest";
import { createAnswerText } from "../../../engines/answers/answer.ts";
import { createStops } from "../../../engines/answers/stops.ts";
import { BYTE_TOKENIZER } from "../../../engines/tokens/byteTokenizer.ts";
import { createFileTokenizer } from "../../../engines/tokens/fileTokenizer.ts";
import { FRAGMENTS, STYLES } from "../tokens/styles.ts";

const tokenizers = Object.entries(STYLES).map(([name, { tokenizer, config, size }]) => ({
  name,
  tokenizer: createFileTokenizer({
    ...{ path: name, tokenizer: tokenizer as Record<string, unknown>, config, vocabulary: size },
    ...{ specials: {}, stopTokens: { all: [], turn: undefined }, render: undefined },
  }),
}));

test.each([...tokenizers, { name: "bytes", tokenizer: BYTE_TOKENIZER }])(
  "$name: a text comes token by token as all of them are decoded, and no character is split",
  ({ tokenizer }) => {
    for (const text of [...FRAGMENTS, FRAGMENTS.join(" "), "naïve 🌊👩‍👩‍👧 ﷽ \u0000"]) {
      const tokens = tokenizer.promptTokens({ prompt: text }, "text").filter(tokenizer.isTextToken);
      const textOf = createAnswerText(tokenizer);
      const pieces = tokens.map(textOf);
      expect(pieces.join("")).toBe(tokenizer.decode(tokens));
      for (const piece of pieces)
        if (!text.includes("\uFFFD")) expect(piece).not.toContain("\uFFFD");
    }
  },
);

test("what stops an answer is found wherever the text is cut, and what only begins so is given back", () => {
  const random = (i: number, most: number) => Math.floor((((i * 7919) % 104729) / 104729) * most);
  for (let i = 0; i < 500; i++) {
    const text = Array.from({ length: 12 }, (_, j) => "ab"[random(i * 13 + j * 31, 2)]).join("");
    const stops = ["aab", "bbb", "abab"].slice(0, random(i, 4));
    const places = stops.map((stop) => text.indexOf(stop)).filter((place) => place >= 0);
    const wanted = text.slice(0, places.length > 0 ? Math.min(...places) : text.length);
    const reader = createStops(stops);
    let found = "";
    let isStopped = false;
    for (let at = 0; at < text.length && !isStopped; at += 1 + random(i + at, 3)) {
      const size = 1 + random(i + at, 3);
      const read = reader.push(text.slice(at, at + size));
      found += read.text;
      expect(wanted.startsWith(found), `${text} ${stops.join()}`).toBe(true);
      isStopped = read.isStopped;
    }
    expect([found + reader.flush(), isStopped]).toEqual([wanted, places.length > 0]);
  }
});
