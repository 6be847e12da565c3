import type { Message, Tool } from "../../protocol/chat.ts";
import constants from "../python/kit_engine/constants.json" with { type: "json" };
import type { IgnoredKeys } from "./ignoredKeys.ts";
import type { RowForm } from "./rowForm.ts";
import {
  type RowObject,
  answerIn,
  messagesIn,
  parseRowObject,
  questionIn,
  wordsOf,
} from "./rowObject.ts";

/** A question, an answer to it, and whether that is good, whichever form the line has. */
export interface Judged {
  prompt: Message[];
  completion: Message[];
  label: boolean;
  tools?: readonly Tool[];
}

/** Cells of a table that has only text. */
const LABELS = new Map<unknown, boolean>([
  [true, true],
  [false, false],
  ["true", true],
  ["false", false],
]);

/** @throws KitError `DATASET_INVALID`, its message beginning with `where` */
function parseJudged(text: string, where: string, ignored?: IgnoredKeys): Judged {
  const object = parseRowObject(text, where, constants.expectedJudged);
  const { row, tools, fail } = object;
  if ("chosen" in row || "preferred_output" in row) {
    return fail('two answers, which the objective "dpo" learns from, not "kto"');
  }
  if (row.label === undefined) return fail('no "label" that says whether the answer is good');
  const { label: given } = row;
  const label = LABELS.get(typeof given === "string" ? given.toLowerCase() : given);
  if (label === undefined) return fail('"label" is neither true nor false');
  const { prompt, completion } = "messages" in row ? lastAnswer(object) : row;
  if (prompt === undefined) return fail('no "prompt" or "messages"');
  if (completion === undefined) return fail('a "prompt" without a "completion"');
  ignored?.add(row, "messages" in row ? ["messages", "label"] : ["prompt", "completion", "label"]);
  return {
    prompt: questionIn(object, "prompt", prompt),
    completion: answerIn(object, "completion", completion),
    label,
    ...(tools && { tools }),
  };
}

/** The last message is what was judged. */
function lastAnswer(object: RowObject): { prompt: Message[]; completion: Message[] } {
  const messages = messagesIn(object, "messages", object.row.messages);
  if (messages.at(-1)?.role !== "assistant") {
    return object.fail('"messages" does not end with an "assistant" message');
  }
  if (messages.length === 1) return object.fail('"messages" has an answer alone');
  return { prompt: messages.slice(0, -1), completion: messages.slice(-1) };
}

/** Rows of judged answers. */
export const JUDGED_FORM: RowForm<Judged> = {
  expected: constants.expectedJudged,
  parse: parseJudged,
  columns: [
    ["messages", "label"],
    ["prompt", "completion", "label"],
  ],
  answersOf: ({ completion }) => wordsOf(completion),
  rightAnswerOf: ({ prompt, completion, label, tools }) =>
    label ? { messages: [...prompt, ...completion], ...(tools && { tools }) } : undefined,
  // An empty answer is refused.
  isEmpty: () => false,
  isText: () => false,
};
