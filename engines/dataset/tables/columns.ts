import { isRecord } from "../../../protocol/isRecord.ts";
import { SYSTEM_KEYS } from "../../../protocol/system.ts";
import { fromJson } from "../records/fromJson.ts";
import { CONTENTS, INSTRUCTIONS, geminiTurns, instructionOf } from "../records/gemini.ts";
import {
  type QuestionColumns,
  MAY_BELONG,
  isAlpaca,
  questionColumns,
  questionOf,
  textOf,
} from "../records/questions.ts";
import { toolsOf } from "../records/tools.ts";
import { checkMessages, messagesOf, withTypes } from "../records/turns.ts";
import { invalid } from "./tableRow.ts";

/** What a row of Kit has, in whichever form. */
const FIELDS = [
  "messages",
  "tools",
  "prompt",
  "completion",
  "text",
  "chosen",
  "rejected",
  "label",
] as const;

type Field = (typeof FIELDS)[number];

/** The column that each part of a row is in. */
export type Columns = Partial<Record<Field, string>>;

/** How a kind of rows is written. */
export interface RowColumns {
  /** The parts of each of Kit's own forms; the first whose columns are all there is taken. */
  own: readonly (readonly Field[])[];
  /** What stands beside a question, in whichever form that is. */
  answer: readonly Field[];
  /** Of Kit's own form that is taken only where there is no question in another. */
  last?: readonly Field[];
}

/** Right answers. Texts are read, too. */
export const ANSWERS: RowColumns = {
  own: [["messages"], ["prompt", "completion"]],
  answer: ["completion"],
  last: ["text"],
};

/** How records with the same columns become rows. */
export interface RecordForm {
  /** The columns that it reads. */
  reads: readonly string[];
  /** Those that it leaves out, although they may belong to its question. */
  loses: readonly string[];
  /** How columns become a row, for people: `question → prompt`. Undefined for Kit's own names. */
  told?: string;
  /** The column of the question, which names the form. */
  source?: string;
  /**
   * A row in one of Kit's own forms, which `parse` checks.
   * @throws KitError `DATASET_INVALID`, its message beginning with `where`
   */
  rowOf(record: Record<string, unknown>, where: string): Record<string, unknown>;
}

export interface FormOptions {
  /** As asked for. Default: by the names of the columns. */
  columns?: Columns | undefined;
  /** What a row may be. Default: right answers, and texts. */
  rows?: RowColumns;
  /** Whether the names are those of a table, so that each is a column that is meant. */
  isTable?: boolean;
}

/** Conversations of ShareGPT and of those who followed it. */
const CONVERSATIONS = ["conversations", "conversation"];
/** Beside a question, in whichever form. */
const BESIDE = ["tools", ...SYSTEM_KEYS, ...INSTRUCTIONS];
/** An error names at most so many columns. */
const MOST_NAMED = 20;

/**
 * How records with these columns become rows.
 * @param where for error messages: a file, or file and line
 * @returns undefined for records that are no table's, and whose form is unknown: `parse` says what is wrong
 * @throws KitError `DATASET_INVALID` for columns that are not there, and a table's that are unknown
 */
export function recordForm(
  names: readonly string[],
  where: string,
  { columns, rows = ANSWERS, isTable = true }: FormOptions = {},
): RecordForm | undefined {
  if (columns) {
    const [missing] = named(columns).filter(([, column]) => !names.includes(column));
    if (missing === undefined) return columnsForm(columns, names);
    throw invalid(
      where,
      `no column ${JSON.stringify(missing[1])}. Set columns.${missing[0]} to one of ${list(names)}.`,
    );
  }
  const isOther = names.includes("chosen") || names.includes("preferred_output");
  // `parse` says which objective learns from them.
  if (!isTable && rows === ANSWERS && isOther) return undefined;
  const hasAll = (fields: readonly Field[]) => fields.every((field) => names.includes(field));
  const formOf = (fields: readonly Field[]) =>
    isTable ? columnsForm(sameNames(fields), names) : ownForm(names);
  const own = rows.own.find(hasAll);
  if (own) return formOf(own);
  const conversation = conversationForm(names, rows);
  if (conversation) return conversation;
  const question = questionForm(names, rows);
  const last = rows.last && hasAll(rows.last) ? formOf(rows.last) : undefined;
  // Alpaca's own file has all of a row as a text, too.
  const isFirst = rows !== ANSWERS || question?.source === "instruction";
  const form = isFirst ? (question ?? last) : (last ?? question);
  if (form || !isTable) return form;
  throw invalid(
    where,
    `Kit cannot tell which columns to learn from among ${list(names)}. Set columns, for example ${exampleOf(rows)}.`,
  );
}

/** Named columns, and those that stand beside any question. */
function columnsForm(columns: Columns, names: readonly string[]): RecordForm {
  const parts = named(columns);
  const isTaken = (name: string) =>
    parts.some(([field, column]) => field === name || column === name);
  const isText = columns.text !== undefined;
  const beside = isText ? [] : besideOf(names).filter((name) => !isTaken(name));
  const reads = [...parts.map(([, column]) => column), ...beside];
  const isRenamed = parts.some(([field, column]) => field !== column);
  const told = parts.map(([field, column]) => (field === column ? field : `${column} → ${field}`));
  return {
    reads,
    loses: columns.prompt === undefined ? [] : lostOf(names, reads),
    ...(isRenamed && {
      source: "columns",
      told: `${counted(reads)} ${[...told, ...beside].join(", ")}`,
    }),
    rowOf: (record, where) => ({
      ...besideIn(record, beside, where),
      ...defined(
        parts.map(([field, column]) => [field, fieldOf(field, record[column], where, column)]),
      ),
    }),
  };
}

/** Kit's own names in a record that may have others, which `parse` counts. */
function ownForm(names: readonly string[]): RecordForm {
  const fields = FIELDS.filter((field) => names.includes(field) && CONVERSED.has(field));
  return {
    reads: names,
    loses: names.includes("prompt") ? lostOf(names, []) : [],
    rowOf: (record, where) => ({
      ...record,
      ...besideIn(record, besideOf(names), where),
      ...Object.fromEntries(
        fields.map((field) => [field, conversationOf(field, record[field], where, field)]),
      ),
    }),
  };
}

/** ShareGPT's, or Gemini's. */
function conversationForm(
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

/** A question that is text, by the names of public data. */
function questionForm(names: readonly string[], { answer }: RowColumns): RecordForm | undefined {
  const columns = questionColumns(names);
  const needsAnswer = answer.includes("completion");
  const others = answer.filter((field) => field !== "completion");
  if (!columns || !others.every((field) => names.includes(field))) return undefined;
  if (needsAnswer !== (columns.answer !== undefined)) return undefined;
  const beside = besideOf(names);
  const { question, contexts, history, answer: answered } = columns;
  const asked = [...(history === undefined ? [] : [history]), question, ...contexts];
  const reads = [...asked, ...(answered === undefined ? [] : [answered]), ...others, ...beside];
  const kind = isAlpaca(columns) ? "Alpaca" : counted(reads);
  const completion = answered === undefined ? "" : `, ${answered} → completion`;
  return {
    reads,
    loses: lostOf(names, reads),
    source: question,
    told: `${kind} ${asked.join(", ")} → prompt${completion}`,
    rowOf: (record, where) => ({
      ...besideIn(record, beside, where),
      ...fieldsIn(record, others, where),
      ...questionRow(record, columns, where),
    }),
  };
}

function questionRow(
  record: Record<string, unknown>,
  columns: QuestionColumns,
  where: string,
): Record<string, unknown> {
  const { prompt, earlier } = questionOf(record, columns, where);
  const { answer } = columns;
  const asked = [...earlier, { role: "user", content: prompt }];
  if (answer === undefined) return { prompt: earlier.length === 0 ? prompt : asked };
  const completion = textOf(record[answer], where, answer);
  if (earlier.length === 0) return { prompt, completion };
  return { messages: [...asked, { role: "assistant", content: completion }] };
}

function sameNames(fields: readonly Field[]): Columns {
  return Object.fromEntries(fields.map((field) => [field, field]));
}

function besideOf(names: readonly string[]): string[] {
  return BESIDE.filter((name) => names.includes(name));
}

function lostOf(names: readonly string[], reads: readonly string[]): string[] {
  return MAY_BELONG.filter((name) => names.includes(name) && !reads.includes(name));
}

/** Tools and the system's text as rows of Kit have them. */
function besideIn(
  record: Record<string, unknown>,
  names: readonly string[],
  where: string,
): Record<string, unknown> {
  return defined(
    names.map((name) => {
      if (name === "tools") return [name, toolsOf(record[name], where, name)];
      const isGemini = INSTRUCTIONS.includes(name);
      const text = isGemini ? instructionOf(record[name], where, name) : record[name];
      return [isGemini ? "system" : name, withTypes(text)];
    }),
  );
}

function fieldsIn(
  record: Record<string, unknown>,
  fields: readonly Field[],
  where: string,
): Record<string, unknown> {
  return defined(fields.map((field) => [field, fieldOf(field, record[field], where, field)]));
}

function defined(entries: readonly (readonly [string, unknown])[]): Record<string, unknown> {
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

function fieldOf(field: Field, value: unknown, where: string, column: string): unknown {
  if (field === "tools") return toolsOf(value, where, column);
  if (!CONVERSED.has(field)) return value;
  const isJson = field === "messages" || isJsonList(value);
  const read = isJson ? fromJson(value, where, column, "a list of messages") : value;
  return conversationOf(field, read, where, column);
}

/** Fields that may be lists of messages. */
const CONVERSED = new Set<Field>(["messages", "prompt", "completion", "chosen", "rejected"]);

function conversationOf(field: Field, value: unknown, where: string, column: string): unknown {
  // LLaMA-Factory's better and worse answers are a message each.
  const isMessage = isRecord(value) && (field === "chosen" || field === "rejected");
  // A model may be to answer with such a text.
  const isText = field !== "completion" && isJsonList(value);
  const read = isText ? fromJson(value, where, column, "a list of messages") : value;
  return messagesOf(isMessage ? [value] : read, where, column);
}

/** Also one that Python wrote, which is told from JSON. */
function isJsonList(value: unknown): boolean {
  return typeof value === "string" && MESSAGES_TEXT.test(value);
}

const MESSAGES_TEXT = /^\s*\[\s*\{\s*(["'])(?:role|from|content|value)\1\s*:/;

/** Columns of the form of questions, by other names. */
function exampleOf({ own }: RowColumns): string {
  const form = own.find((fields) => fields.includes("prompt")) ?? [];
  return `{ ${form.map((field) => `${field}: "${OTHER_NAMES[field] ?? field}"`).join(", ")} }`;
}

const OTHER_NAMES: Partial<Record<Field, string>> = {
  prompt: "question",
  completion: "answer",
  chosen: "better",
  rejected: "worse",
  label: "good",
};

function named(columns: Columns): [field: Field, column: string][] {
  return FIELDS.flatMap((field) => {
    const column = columns[field];
    return column === undefined ? [] : [[field, column] as [Field, string]];
  });
}

function counted({ length }: readonly string[]): string {
  return length === 1 ? "column" : "columns";
}

function list(names: readonly string[]): string {
  const shown = names.slice(0, MOST_NAMED).map((name) => JSON.stringify(name));
  const more = names.length - shown.length;
  return shown.join(", ") + (more > 0 ? ` and ${more} others` : "");
}
