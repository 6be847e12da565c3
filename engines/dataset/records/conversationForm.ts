import { fromJson } from "../notJson.ts";
import type { RecordForm, RowColumns } from "./fields.ts";
import { besideIn, besideOf, fieldsIn } from "./parts.ts";
import { CONTENTS, checkMessages, geminiTurns, messagesOf } from "./turns.ts";

/** Conversations of ShareGPT and its successors. */
const CONVERSATIONS = ["conversations", "conversation"];

/** ShareGPT's, or Gemini's. */
export function conversationForm(
  names: readonly string[],
  { answer }: RowColumns,
): RecordForm | undefined {
  const column = [...CONVERSATIONS, CONTENTS].find((name) => names.includes(name));
  const others = answer.filter((field) => field !== "completion");
  if (column === undefined || !others.every((field) => names.includes(field))) return undefined;
  const field = answer.includes("completion") ? "messages" : "prompt";
  const beside = besideOf(names);
  const isGemini = column === CONTENTS;
  return {
    reads: [column, ...others, ...beside],
    loses: [],
    source: column,
    told: `${isGemini ? "Gemini" : "ShareGPT"} ${column} → ${field}`,
    rowOf(record, where) {
      const value = fromJson(record[column], where, column, "a list of messages");
      const turns = isGemini ? geminiTurns(value, where) : value;
      const messages = messagesOf(turns, where, column);
      checkMessages(messages, where, column);
      return {
        ...besideIn(record, beside, where),
        ...fieldsIn(record, others, where),
        [field]: messages,
      };
    },
  };
}
