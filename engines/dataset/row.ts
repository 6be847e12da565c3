import { KitError } from "../../protocol/error.ts";
import { type ChatMessage, hasTools, isChatMessage } from "../../protocol/infer.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import constants from "../python/kit_engine/constants.json" with { type: "json" };
import { isCsv } from "./csv.ts";
import type { IgnoredKeys } from "./ignoredKeys.ts";
import type { RowForm } from "./rowForm.ts";

/** A row of a dataset, as written in the file. */
export type Row =
  | { messages: ChatMessage[] }
  | { prompt: string; completion: string }
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
  if (hasTools(row)) return fail("the row has tools, which Kit cannot teach yet");
  if ("messages" in row) {
    if (!Array.isArray(row.messages) || row.messages.length === 0) {
      return fail('"messages" is not a list of messages');
    }
    const wrong = row.messages.findIndex((message) => !isChatMessage(message));
    if (wrong !== -1) {
      return fail(
        `messages[${wrong}] needs a "role" (system, user or assistant) and a "content" string`,
      );
    }
    const messages = row.messages as ChatMessage[];
    if (!messages.some(({ role }) => role === "assistant"))
      return fail('no "assistant" message to learn');
    const unlearned = messages.findIndex(isUnlearned);
    if (unlearned !== -1) {
      return fail(
        `messages[${unlearned}] has a "weight" other than 1, and Kit learns every answer in full`,
      );
    }
    ignored?.add(row, ["messages"]);
    return { messages };
  }
  if ("prompt" in row || "completion" in row) {
    const { prompt, completion } = row as { prompt?: unknown; completion?: unknown };
    if (prompt === undefined) return fail('a "completion" without a "prompt"');
    if (completion === undefined) return fail('a "prompt" without a "completion"');
    if (typeof prompt !== "string") return fail('"prompt" is not a string');
    if (typeof completion !== "string") return fail('"completion" is not a string');
    ignored?.add(row, ["prompt", "completion"]);
    return { prompt, completion };
  }
  if ("text" in row) {
    if (typeof row.text !== "string") return fail('"text" is not a string');
    ignored?.add(row, ["text"]);
    return { text: row.text };
  }
  return fail('no "messages", "prompt" or "text"');
}

/** OpenAI's rows say so of single answers. Other messages are never learned. */
function isUnlearned(message: ChatMessage & { weight?: unknown }): boolean {
  return message.role === "assistant" && (message.weight ?? 1) !== 1;
}

function isEmpty(row: Row): boolean {
  if ("text" in row) return isBlank(row.text);
  if ("completion" in row) return isBlank(row.completion);
  return row.messages.some(({ role, content }) => role === "assistant" && isBlank(content));
}

function isBlank(text: string): boolean {
  return text.trim() === "";
}

/** Rows of right answers, and texts. */
export const ROW_FORM: RowForm<Row> = {
  expected: EXPECTED_ROW,
  parse: parseRow,
  isEmpty,
  isText: (row) => "text" in row,
};
