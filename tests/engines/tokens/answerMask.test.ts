import { expect, test } from "vitest";
import { answerMasks } from "../../../engines/tokens/answerMask.ts";
import { spansOf } from "../../../engines/tokens/byteChat.ts";
import type { Conversation, Message } from "../../../protocol/chat.ts";

const EOS = 0;

/** Tokens are words of letters, runs of colons, and "." for the end. */
function encode(text: string) {
  const tokens = text.match(/\w+|:+|\./g) ?? [];
  return tokens.map((token) => ({
    ...{ id: token === "." ? EOS : token.length, bytes: token.length },
    ...{ leading: 0, trailing: 0 },
  }));
}

function write({ messages }: Conversation, opens = false): string {
  const turns = messages.map(({ role, content }) => `${role}:${content}.`);
  return turns.join("") + (opens ? "assistant:" : "");
}
const render = Object.assign(write, { reads: () => false });

/** Which tokens of the only sequence are learned. */
function learned(messages: Message[]): boolean[] {
  const masks = answerMasks({ messages }, { render, encode, stopTokens: new Set([EOS]) });
  expect(masks).toHaveLength(1);
  return masks[0]!.learned;
}

test("a token that an answer shares with what comes before it is not learned", () => {
  const learnedOf = (content: string) =>
    learned([
      { role: "user", content: "a" },
      { role: "assistant", content },
    ]).map(Number);
  // user : a . assistant : hello .
  expect(learnedOf("hello")).toEqual([0, 0, 0, 0, 0, 0, 1, 1]);
  expect(learnedOf(":hello")).toEqual([0, 0, 0, 0, 0, 0, 1, 1]);
});

test("a conversation that begins with an answer is refused, as transformers opens none without a message", () => {
  const said = /^A conversation starts with an assistant message\. Add/;
  const answer: Message = { role: "assistant", content: "hello" };
  const messages: Message[] = [answer, { role: "user", content: "a" }, answer];
  expect(() => learned(messages)).toThrow(said);
  expect(() => spansOf({ messages })).toThrow(said);
  const asked: Message[] = [{ role: "system", content: "b" }, answer];
  expect(learned(asked)).toContain(true);
});
