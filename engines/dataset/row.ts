import { type Message, type TemplateInput, isLearned } from "../../protocol/chat.ts";
import { KitError } from "../../protocol/error.ts";
import { formatCount, formatCounted } from "../../protocol/format.ts";
import { SYSTEM_KEYS, hasSystem } from "../../protocol/system.ts";
import type { IgnoredKeys } from "./ignoredKeys.ts";
import { DEMONSTRATION_COLUMNS } from "./records/fields.ts";
import { type DatasetCheck, withKwargs } from "./rowFormat.ts";
import {
  type RowObject,
  OTHER_NAMES_HINT,
  answerMessagesIn,
  promptAndCompletion,
  isPairKey,
  messagesIn,
  parseRowObject,
  questionIn,
  withSystemOf,
} from "./rowObject.ts";

/** A row of a dataset, as written in the file. */
export type Row =
  | ({ messages: Message[] } & TemplateInput)
  | ({ prompt: string; completion: string } & TemplateInput)
  | { text: string };

/** The formats of a line, for errors. */
const EXPECTED_ROW =
  'one of {"messages":[{"role":"user","content":"…"},{"role":"assistant","content":"…"}]}, {"prompt":"…","completion":"…"} or {"text":"…"}';

/** @throws KitError `DATASET_INVALID`, its message beginning with `where` */
export function parseRow(value: unknown, where: string, ignored?: IgnoredKeys): Row {
  const object = parseRowObject(value, where, EXPECTED_ROW);
  const { row, tools, fail } = object;
  if (Object.keys(row).some(isPairKey))
    return fail('a pair of answers: set objective to { type: "dpo" } to learn from pairs');
  if (typeof row.label === "boolean")
    return fail(
      'a "label": set objective to { type: "kto" } to learn from labelled answers, or remove it',
    );
  if ("messages" in row) {
    const messages = withSystemOf(object, messagesIn(object, "messages", row.messages));
    refuseUnlearned(object, messages);
    ignored?.add(row, ["messages", ...SYSTEM_KEYS]);
    return { messages, ...(tools && { tools }) };
  }
  if ("prompt" in row || "completion" in row) {
    const { prompt, completion } = row;
    if (prompt === undefined) return fail('a "completion" without a "prompt"');
    if (completion === undefined) return fail('a "prompt" without a "completion"');
    const content =
      typeof prompt === "string" && typeof completion === "string" && !hasSystem(row)
        ? { prompt, completion }
        : { messages: conversationOf(object) };
    ignored?.add(row, ["prompt", "completion", ...SYSTEM_KEYS]);
    return { ...content, ...(tools && { tools }) };
  }
  if ("text" in row) {
    if (typeof row.text !== "string") return fail('"text" is not a string');
    if (tools) return fail('a "text" takes no "tools"');
    ignored?.add(row, ["text"]);
    return { text: row.text };
  }
  return fail(`no "messages", "prompt" or "text"${OTHER_NAMES_HINT}`);
}

/** The messages of a prompt and its completion, either of which may be text. */
function conversationOf(object: RowObject): Message[] {
  const { prompt, completion } = promptAndCompletion(object);
  const question = withSystemOf(object, questionIn(object, "prompt", prompt));
  const answer = answerMessagesIn(object, "completion", completion);
  refuseUnlearned(object, answer);
  return [...question, ...answer];
}

function refuseUnlearned({ fail }: RowObject, messages: readonly Message[]): void {
  const answers = messages.filter(({ role }) => role === "assistant");
  if (answers.length === 0) fail('no "assistant" message to learn');
  if (!answers.some(isLearned)) fail('every answer has the "weight" 0');
}

/** Whether an error says that recursion over a row's values overflowed the stack. */
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
  return row.messages.some(
    (message) => isLearned(message) && !message.tool_calls && isBlank(message.content),
  );
}

function answersOf(row: Row): string[] {
  if ("text" in row) return [];
  if ("completion" in row) return [row.completion];
  return row.messages.filter(isLearned).flatMap(({ content }) => content ?? []);
}

function isBlank(text = ""): boolean {
  return text.trim() === "";
}

/** The format of demonstrations and plain texts. */
export const ROW_FORMAT = withKwargs<Row>({
  expected: EXPECTED_ROW,
  parse: parseRow,
  columns: DEMONSTRATION_COLUMNS,
  createCheck: () => checkEmptyAnswers(isEmpty, EXPECTED_ROW),
  answersOf,
  rightAnswerOf: (row) => row,
  isText: (row) => "text" in row,
});

/**
 * Warns about empty answers; refuses a dataset with no others.
 * @param expected the formats of a line, for the error
 */
function checkEmptyAnswers<Row extends object>(
  isEmpty: (row: Row) => boolean,
  expected: string,
): DatasetCheck<Row> {
  let rows = 0;
  let empty = 0;
  let first = "";
  return {
    add(row, where) {
      rows++;
      if (isEmpty(row) && ++empty === 1) first = where;
    },
    report(name, note) {
      if (empty === 0) return;
      if (empty === rows) {
        throw new KitError(
          "DATASET_INVALID",
          `Every row of ${name} has an empty answer or text. Write ${expected} on each line.`,
        );
      }
      const share = `${formatCount(empty)} of ${formatCounted(rows, "row")}`;
      note(`warning: an empty answer or text in ${share}\n  the first is ${first}`);
    },
  };
}
