import { expect, test } from "vitest";
import { answerMask } from "../../../engines/tokens/answerMask.ts";
import { spansOf } from "../../../engines/tokens/byteChat.ts";
import type { ChatMessage } from "../../../protocol/infer.ts";

const EOS = 0;

/** Tokens are words of letters, runs of colons, and "." for the end. */
function encode(text: string) {
  const tokens = text.match(/\w+|:+|\./g) ?? [];
  return tokens.map((token) => ({
    ...{ id: token === "." ? EOS : token.length, bytes: token.length },
    ...{ before: 0, after: 0 },
  }));
}

function render(messages: readonly ChatMessage[], opens = false): string {
  const turns = messages.map(({ role, content }) => `${role}:${content}.`);
  return turns.join("") + (opens ? "assistant:" : "");
}

test("a token that an answer shares with what comes before it is not learned", () => {
  const learnedOf = (content: string) =>
    answerMask(
      [
        { role: "user", content: "a" },
        { role: "assistant", content },
      ],
      { render, encode, eos: EOS },
    ).learned.map(Number);
  // user : a . assistant : hello .
  expect(learnedOf("hello")).toEqual([0, 0, 0, 0, 0, 0, 1, 1]);
  expect(learnedOf(":hello")).toEqual([0, 0, 0, 0, 0, 0, 1, 1]);
});

test("a conversation that begins with an answer is refused, as transformers opens none without a message", () => {
  const said = /^A conversation begins with an assistant's message, which answers nothing\. Write/;
  const answer: ChatMessage = { role: "assistant", content: "hello" };
  const messages: ChatMessage[] = [answer, { role: "user", content: "a" }, answer];
  expect(() => answerMask(messages, { render, encode, eos: EOS })).toThrow(said);
  expect(() => spansOf({ messages })).toThrow(said);
  const asked: ChatMessage[] = [{ role: "system", content: "b" }, answer];
  expect(answerMask(asked, { render, encode, eos: EOS }).learned).toContain(true);
});
