import {
  type Message,
  type Tool,
  asMessage,
  asTools,
  isLearned,
  problemOfMessage,
  problemOfTools,
} from "../../protocol/chat.ts";
import { KitError } from "../../protocol/error.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import constants from "../python/kit_engine/constants.json" with { type: "json" };

/** A line of a dataset as an object, before its form is known. */
export interface RowObject {
  row: Record<string, unknown>;
  tools: readonly Tool[] | undefined;
  /** Throws with the line, the problem and what to write instead. */
  fail: (problem: string) => never;
}

/** @throws KitError `DATASET_INVALID`, its message beginning with `where` */
export function parseRowObject(row: unknown, where: string, expected: string): RowObject {
  const fail = (problem: string): never => {
    throw new KitError("DATASET_INVALID", `${where}: ${problem}. Write ${expected}.`);
  };
  if (!isRecord(row)) return fail("not a JSON object");
  const problem = problemOfTools(row);
  if (problem !== undefined) return fail(problem);
  if (row.weight === 0) return fail(constants.weightlessRow);
  return { row, tools: asTools(row.tools), fail };
}

/** The messages that a row has under a name. */
export function messagesIn(
  { fail }: Pick<RowObject, "fail">,
  name: string,
  value: unknown,
): Message[] {
  if (!Array.isArray(value) || value.length === 0) {
    return fail(`"${name}" is not a list of messages`);
  }
  for (const [at, message] of value.entries()) {
    const wrong = problemOfMessage(message);
    if (wrong !== undefined) return fail(`${name}[${at}] ${wrong}`);
  }
  return value.map(asMessage);
}

/** A question that a row has under a name: its words, or messages, of which no answer is learned. */
export function questionIn(row: RowObject, name: string, value: unknown): Message[] {
  if (typeof value === "string") return [{ role: "user", content: value }];
  return messagesOrFail(row, name, value).map((message) =>
    message.role === "assistant" ? { ...message, weight: 0 } : message,
  );
}

/** An answer that a row has under a name: its words, or messages. */
export function answerIn(row: RowObject, name: string, value: unknown): Message[] {
  const messages: Message[] =
    typeof value === "string"
      ? [{ role: "assistant", content: value }]
      : messagesOrFail(row, name, value).map(withoutWeightOf1);
  if (messages.at(-1)?.role !== "assistant") {
    return row.fail(`"${name}" does not end with an "assistant" message`);
  }
  if (!messages.some(isLearned)) return row.fail(`"${name}" has the "weight" 0`);
  if (messages.some(isBlank)) return row.fail(`"${name}" is empty`);
  return messages;
}

function messagesOrFail(row: RowObject, name: string, value: unknown): Message[] {
  if (Array.isArray(value) && value.length > 0) return messagesIn(row, name, value);
  return row.fail(`"${name}" is neither text nor a list of messages`);
}

/** Drops a weight of 1, the default, so that equal answers compare as equal. */
function withoutWeightOf1(message: Message): Message {
  const { weight, ...rest } = message;
  return weight === 0 ? message : rest;
}

/** The words of an answer, for people. */
export function wordsOf(answer: readonly Message[]): string[] {
  return answer.flatMap(({ role, content }) => (role === "assistant" ? (content ?? []) : []));
}

function isBlank({ role, content = "", tool_calls: calls }: Message): boolean {
  return role === "assistant" && !calls && content.trim() === "";
}
