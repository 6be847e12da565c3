import { isDeepStrictEqual } from "node:util";
import type { Message } from "../../protocol/chat.ts";

/** A conversation split at the end of a question. */
interface Split {
  question: Message[];
  answer: Message[];
}

/** Whether an "answer" is a whole conversation, which begins with the question. */
export function isWholeConversation(answer: readonly Message[]): boolean {
  const [first, last] = [answer[0]?.role, answer.at(-1)?.role];
  return (first === "user" || first === "system" || first === "developer") && last === "assistant";
}

/** Length of two conversations' common prefix, in messages, as in TRL's `extract_prompt`. */
export function sharedPrefixLength(a: readonly Message[], b: readonly Message[]): number {
  const different = a.findIndex((message, i) => !isDeepStrictEqual(message, b[i]));
  return different === -1 ? a.length : different;
}

/**
 * Splits a conversation after the question.
 * @returns undefined if the conversation has another question
 */
export function splitAfterQuestion(
  question: readonly Message[],
  conversation: readonly Message[],
): Split | undefined {
  for (let start = 0; start + question.length < conversation.length; start++) {
    if (!question.every((message, i) => isSameMessage(message, conversation[start + i]))) continue;
    const end = start + question.length;
    return { question: conversation.slice(0, end), answer: conversation.slice(end) };
  }
  const [first, ...rest] = question;
  if (first?.role !== "system" || rest.length === 0 || conversation[0]?.role === "system") {
    return undefined;
  }
  const found = splitAfterQuestion(rest, conversation);
  return found && { ...found, question: [first, ...found.question] };
}

/** Ignores weights, since questions are never learned. */
function isSameMessage(a: Message, b: Message | undefined): boolean {
  if (b === undefined) return false;
  const [aPlain, bPlain] = [a, b].map(({ weight: _, content = "", ...rest }) => ({
    ...rest,
    content: content.trim(),
  }));
  return isDeepStrictEqual(aPlain, bPlain);
}
