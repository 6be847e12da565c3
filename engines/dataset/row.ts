import { type Message, type Tool, isLearned } from "../../protocol/chat.ts";
import { KitError } from "../../protocol/error.ts";
import constants from "../python/kit_engine/constants.json" with { type: "json" };
import { watchEmptyAnswers } from "./emptyAnswers.ts";
import type { IgnoredKeys } from "./ignoredKeys.ts";
import type { RowForm } from "./rowForm.ts";
import { messagesIn, parseRowObject } from "./rowObject.ts";
import { ANSWERS } from "./tables/columns.ts";

/** A row of a dataset, as written in the file. */
export type Row =
  | { messages: Message[]; tools?: readonly Tool[] }
  | { prompt: string; completion: string; tools?: readonly Tool[] }
  | { text: string };

/** The forms of a line, for error messages. */
export const EXPECTED_ROW = constants.expectedRow;

/** @throws KitError `DATASET_INVALID`, its message beginning with `where` */
export function parseRow(value: unknown, where: string, ignored?: IgnoredKeys): Row {
  const object = parseRowObject(value, where, EXPECTED_ROW);
  const { row, tools, fail } = object;
  if ("chosen" in row || "preferred_output" in row) return fail(constants.pairsRow);
  if (typeof row.label === "boolean") return fail(constants.judgedRow);
  if ("messages" in row) {
    const messages = messagesIn(object, "messages", row.messages);
    const answers = messages.filter(({ role }) => role === "assistant");
    if (answers.length === 0) return fail('no "assistant" message to learn');
    if (!answers.some(isLearned)) return fail('every answer has the "weight" 0');
    ignored?.add(row, ["messages"]);
    return { messages, ...(tools && { tools }) };
  }
  if ("prompt" in row || "completion" in row) {
    const { prompt, completion } = row as { prompt?: unknown; completion?: unknown };
    if (prompt === undefined) return fail('a "completion" without a "prompt"');
    if (completion === undefined) return fail('a "prompt" without a "completion"');
    if (typeof prompt !== "string") return fail('"prompt" is not a string');
    if (typeof completion !== "string") return fail('"completion" is not a string');
    ignored?.add(row, ["prompt", "completion"]);
    return { prompt, completion, ...(tools && { tools }) };
  }
  if ("text" in row) {
    if (typeof row.text !== "string") return fail('"text" is not a string');
    if (tools) return fail('a "text" takes no "tools"');
    ignored?.add(row, ["text"]);
    return { text: row.text };
  }
  return fail(`no "messages", "prompt" or "text"${constants.otherNames}`);
}

/** Whether a walk through a row's values has taken the whole stack. */
export function isTooDeep(error: unknown): boolean {
  return error instanceof RangeError && /call stack/.test(error.message);
}

export function nestedTooDeeply(where: string, cause: unknown): KitError {
  return new KitError(
    "DATASET_INVALID",
    `${where}: values are nested too deeply. Make them flatter.`,
    {
      cause,
    },
  );
}

function isEmpty(row: Row): boolean {
  if ("text" in row) return isBlank(row.text);
  if ("completion" in row) return isBlank(row.completion);
  return row.messages.some((one) => isLearned(one) && !one.tool_calls && isBlank(one.content));
}

function answersOf(row: Row): string[] {
  if ("text" in row) return [];
  if ("completion" in row) return [row.completion];
  return row.messages.filter(isLearned).flatMap(({ content }) => content ?? []);
}

function isBlank(text = ""): boolean {
  return text.trim() === "";
}

/** Rows of right answers, and texts. */
export const ROW_FORM: RowForm<Row> = {
  expected: EXPECTED_ROW,
  parse: parseRow,
  columns: ANSWERS,
  watch: () => watchEmptyAnswers(isEmpty, EXPECTED_ROW),
  answersOf,
  rightAnswerOf: (row) => row,
  isText: (row) => "text" in row,
};
