import { parseJsonCell } from "../jsonError.ts";
import type { RecordFormat, RowColumns } from "./fields.ts";
import { CONTENTS, checkMessages, geminiTurns, messagesOf } from "./turns.ts";
import { extrasIn, extrasOf, fieldsIn } from "./values.ts";

/** Columns of ShareGPT and its successors. */
const CONVERSATIONS = ["conversations", "conversation"];

/** ShareGPT's or Gemini's format; undefined for other columns. */
export function conversationFormat(
  names: readonly string[],
  { answer }: RowColumns,
): RecordFormat | undefined {
  const column = [...CONVERSATIONS, CONTENTS].find((name) => names.includes(name));
  const otherFields = answer.filter((field) => field !== "completion");
  if (column === undefined || !otherFields.every((field) => names.includes(field)))
    return undefined;
  const field = answer.includes("completion") ? "messages" : "prompt";
  const extras = extrasOf(names);
  const isGemini = column === CONTENTS;
  return {
    reads: [column, ...otherFields, ...extras],
    drops: [],
    source: column,
    summary: `${isGemini ? "Gemini" : "ShareGPT"} ${column} → ${field}`,
    rowOf(record, where) {
      const value = parseJsonCell(record[column], where, column, "a list of messages");
      const turns = isGemini ? geminiTurns(value, where) : value;
      const messages = messagesOf(turns, where, column);
      checkMessages(messages, where, column);
      return {
        ...extrasIn(record, extras, where),
        ...fieldsIn(record, otherFields, where),
        [field]: messages,
      };
    },
  };
}
