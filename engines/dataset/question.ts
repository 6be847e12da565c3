import { isDeepStrictEqual } from "node:util";
import type { Message } from "../../protocol/chat.ts";

/** A conversation up to the end of a question, and what follows. */
interface Split {
  question: Message[];
  answer: Message[];
}

/** Whether an answer is a conversation with its question: no answer begins with a question. */
export function isWhole(answer: readonly Message[]): boolean {
  const [first, last] = [answer[0]?.role, answer.at(-1)?.role];
  return (first === "user" || first === "system" || first === "developer") && last === "assistant";
}

/**
 * What two conversations begin with, as TRL's `extract_prompt` takes it.
 * @returns a count of messages
 */
export function sharedLength(one: readonly Message[], other: readonly Message[]): number {
  const different = one.findIndex((message, at) => !isDeepStrictEqual(message, other[at]));
  return different === -1 ? one.length : different;
}

/**
 * Takes a question once that a conversation has, too.
 * @returns undefined for a conversation that has another
 */
export function splitAt(
  question: readonly Message[],
  conversation: readonly Message[],
): Split | undefined {
  for (let start = 0; start + question.length < conversation.length; start++) {
    if (!question.every((message, at) => isSame(message, conversation[start + at]))) continue;
    const end = start + question.length;
    return { question: conversation.slice(0, end), answer: conversation.slice(end) };
  }
  const [first, ...rest] = question;
  if (first?.role !== "system" || rest.length === 0 || conversation[0]?.role === "system") {
    return undefined;
  }
  const found = splitAt(rest, conversation);
  return found && { ...found, question: [first, ...found.question] };
}

/** A question is never learned, whatever its weight. */
function isSame(one: Message, other: Message | undefined): boolean {
  if (other === undefined) return false;
  const [plain, otherPlain] = [one, other].map(({ weight: _, content = "", ...rest }) => ({
    ...rest,
    content: content.trim(),
  }));
  return isDeepStrictEqual(plain, otherPlain);
}
