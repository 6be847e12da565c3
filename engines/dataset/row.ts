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
import { isCsv } from "./csv.ts";
import type { IgnoredKeys } from "./ignoredKeys.ts";
import type { RowForm } from "./rowForm.ts";

/** A row of a dataset, as written in the file. */
export type Row =
  | { messages: Message[]; tools?: readonly Tool[] }
  | { prompt: string; completion: string; tools?: readonly Tool[] }
  | { text: string };

/** The forms of a line, for error messages. */
export const EXPECTED_ROW = constants.expectedRow;

/** @throws KitError `DATASET_INVALID`, its message beginning with `where` */
export function parseRow(text: string, where: string, ignored?: IgnoredKeys): Row {
  const fail = (problem: string, cause?: unknown): never => {
    throw new KitError("DATASET_INVALID", `${where}: ${problem}. Write ${EXPECTED_ROW}.`, {
      cause,
    });
  };
  let row: unknown;
  try {
    row = JSON.parse(text);
  } catch (cause) {
    return fail(isCsv(text, where) ? constants.csvProblem : "not valid JSON", cause);
  }
  if (!isRecord(row)) return fail("not a JSON object");
  const problem = problemOfTools(row);
  if (problem !== undefined) return fail(problem);
  if (row.weight === 0) return fail(constants.weightlessRow);
  const tools = asTools(row.tools);
  if ("messages" in row) {
    if (!Array.isArray(row.messages) || row.messages.length === 0) {
      return fail('"messages" is not a list of messages');
    }
    for (const [at, message] of row.messages.entries()) {
      const wrong = problemOfMessage(message);
      if (wrong !== undefined) return fail(`messages[${at}] ${wrong}`);
    }
    const messages = row.messages.map(asMessage);
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
  return fail('no "messages", "prompt" or "text"');
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
  isEmpty,
  answersOf,
  isText: (row) => "text" in row,
};
