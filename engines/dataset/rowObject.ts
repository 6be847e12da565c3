import { type Message, type Tool, asMessage, asTools, isLearned } from "../../protocol/chat.ts";
import { problemOfMessage, problemOfTools } from "../../protocol/chatFaults.ts";
import { KitError } from "../../protocol/error.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { saysLearned } from "../../protocol/learnedMarks.ts";
import { problemOfSystem, withSystem } from "../../protocol/system.ts";
import { isWholeConversation, splitAfterQuestion } from "./question.ts";

/** Advice for rows with other names, appended to the problem. */
export const OTHER_NAMES_HINT = "; for other names, set columns or map";

/** A line of a dataset as an object, before its format is known. */
export interface RowObject {
  row: Record<string, unknown>;
  tools: readonly Tool[] | undefined;
  /** Throws an error with the line, the problem and what to write instead. */
  fail: (problem: string) => never;
}

/** @throws KitError `DATASET_INVALID`, its message beginning with `where` */
export function parseRowObject(value: unknown, where: string, expected: string): RowObject {
  const fail = (problem: string): never => {
    throw new KitError("DATASET_INVALID", `${where}: ${problem}. Write ${expected}.`);
  };
  if (!isRecord(value)) return fail("not a JSON object");
  const row = withoutNulls(value);
  const problem = problemOfTools(row);
  if (problem !== undefined) return fail(problem);
  if (saysLearned("weight", row.weight) === false)
    return fail('the row has the "weight" 0: remove it, or set the weight of its answers');
  return { row, tools: asTools(row.tools), fail };
}

/** Libraries write missing keys as null. */
function withoutNulls(row: Record<string, unknown>): Record<string, unknown> {
  const entries = Object.entries(row);
  const present = entries.filter(([, value]) => value !== null);
  return present.length === entries.length ? row : Object.fromEntries(present);
}

/** Whether a key belongs to a preference pair of TRL, OpenAI or ms-swift. */
export function isPairKey(key: string): boolean {
  return ["chosen", "preferred_output", "rejected_response"].includes(key);
}

/** Splits a conversation before its final answer. */
export function lastAnswer(object: RowObject): { prompt: Message[]; completion: Message[] } {
  const messages = messagesIn(object, "messages", object.row.messages);
  if (messages.at(-1)?.role !== "assistant") {
    return object.fail('"messages" does not end with an "assistant" message');
  }
  if (messages.length === 1) return object.fail('"messages" has only an answer');
  return { prompt: messages.slice(0, -1), completion: messages.slice(-1) };
}

/** A conversation with the system prompt that the row has beside it. */
export function withSystemOf<M extends Message>(
  { row, fail }: RowObject,
  messages: readonly M[],
): (M | Message)[] {
  const problem = problemOfSystem(row, messages);
  return problem === undefined ? withSystem(row, messages) : fail(problem);
}

export function messagesIn(
  { fail }: Pick<RowObject, "fail">,
  name: string,
  value: unknown,
): Message[] {
  if (!Array.isArray(value) || value.length === 0) {
    return fail(`"${name}" is not a list of messages`);
  }
  for (const [i, message] of value.entries()) {
    const problem = problemOfMessage(message);
    if (problem !== undefined) return fail(`${name}[${i}] ${problem}`);
  }
  return value.map(asMessage);
}

/** The question in a row's field, which holds text or messages. None of its messages is learned. */
export function questionIn(row: RowObject, name: string, value: unknown): Message[] {
  if (typeof value === "string") return [{ role: "user", content: value }];
  return messagesOrFail(row, name, value).map((message) =>
    message.role === "assistant" ? { ...message, weight: 0 } : message,
  );
}

/**
 * Removes the question from a completion that is a whole conversation.
 * @returns prompt and completion, unchanged or as messages
 * @throws KitError `DATASET_INVALID`
 */
export function promptAndCompletion(object: RowObject): { prompt: unknown; completion: unknown } {
  const { prompt, completion } = object.row;
  if (prompt === undefined || !Array.isArray(completion)) return { prompt, completion };
  const messages = answerMessagesIn(object, "completion", completion);
  if (!isWholeConversation(messages)) return { prompt, completion };
  const found = splitAfterQuestion(questionIn(object, "prompt", prompt), messages);
  if (found) return { prompt: found.question, completion: found.answer };
  if (typeof prompt !== "string") return { prompt, completion };
  return object.fail('"completion" is a conversation without the "prompt" in it');
}

/** The answer in a row's field, which holds text or messages. */
export function answerIn(row: RowObject, name: string, value: unknown): Message[] {
  const messages = answerMessagesIn(row, name, value);
  if (messages.at(-1)?.role !== "assistant") {
    return row.fail(`"${name}" does not end with an "assistant" message`);
  }
  if (!messages.some(isLearned)) return row.fail(`"${name}" has the "weight" 0`);
  if (messages.some(isBlank)) return row.fail(`"${name}" is empty`);
  return messages;
}

/** The text or messages of a row's field, not yet checked to be an answer. */
export function answerMessagesIn(row: RowObject, name: string, value: unknown): Message[] {
  if (typeof value === "string") return [{ role: "assistant", content: value }];
  return messagesOrFail(row, name, value).map(withoutWeightOf1);
}

function messagesOrFail(row: RowObject, name: string, value: unknown): Message[] {
  if (Array.isArray(value) && value.length > 0) return messagesIn(row, name, value);
  return row.fail(`"${name}" is neither text nor a list of messages`);
}

/** Drops the default weight, so equal answers compare as equal. */
function withoutWeightOf1(message: Message): Message {
  const { weight, ...rest } = message;
  return weight === 0 ? message : rest;
}

/** The learned texts of an answer, for display. */
export function answerTexts(answer: readonly Message[]): string[] {
  return answer.filter(isLearned).flatMap(({ content }) => content ?? []);
}

function isBlank({ role, content = "", tool_calls: calls }: Message): boolean {
  return role === "assistant" && !calls && content.trim() === "";
}
