import { parseJsonCell } from "../jsonError.ts";
import { invalid } from "../tables/tableRow.ts";
import { type RecordFormat, type RowColumns, CONTEXTS, HISTORY, columnNoun } from "./fields.ts";
import { extrasIn, extrasOf, fieldsIn, unreadContexts } from "./values.ts";

/** The format of text questions, with column names of public datasets; undefined for other columns. */
export function questionFormat(
  names: readonly string[],
  { answer }: RowColumns,
): RecordFormat | undefined {
  const columns = questionColumns(names);
  const needsAnswer = answer.includes("completion");
  const otherFields = answer.filter((field) => field !== "completion");
  if (!columns || !otherFields.every((field) => names.includes(field))) return undefined;
  if (needsAnswer !== (columns.answer !== undefined)) return undefined;
  const extras = extrasOf(names);
  const { question, contexts, history, answer: answerColumn } = columns;
  const promptColumns = [...(history === undefined ? [] : [history]), question, ...contexts];
  const reads = [
    ...promptColumns,
    ...(answerColumn === undefined ? [] : [answerColumn]),
    ...otherFields,
    ...extras,
  ];
  const kind = isAlpaca(columns) ? "Alpaca" : columnNoun(reads);
  const completion = answerColumn === undefined ? "" : `, ${answerColumn} → completion`;
  return {
    reads,
    drops: unreadContexts(names, reads),
    source: question,
    summary: `${kind} ${promptColumns.join(", ")} → prompt${completion}`,
    rowOf: (record, where) => ({
      ...extrasIn(record, extras, where),
      ...fieldsIn(record, otherFields, where),
      ...questionRow(record, columns, where),
    }),
  };
}

function questionRow(
  record: Record<string, unknown>,
  columns: QuestionColumns,
  where: string,
): Record<string, unknown> {
  const { prompt, earlier } = promptOf(record, columns, where);
  const { answer } = columns;
  const messages = [...earlier, { role: "user", content: prompt }];
  if (answer === undefined) return { prompt: earlier.length === 0 ? prompt : messages };
  const completion = textOf(record[answer], where, answer);
  if (earlier.length === 0) return { prompt, completion };
  return { messages: [...messages, { role: "assistant", content: completion }] };
}

/** Names that public datasets and trainers use for questions and answers. */
const QUESTIONS = ["instruction", "question", "query", "prompt", "input"];
const ANSWERS = ["output", "response", "answer", "completion"];
const INSTRUCTION = "instruction";

/** The columns of a text question, and of its answer if there is one. */
interface QuestionColumns {
  question: string;
  /** Appended to the question. */
  contexts: readonly string[];
  history: string | undefined;
  answer: string | undefined;
}

/** Undefined unless exactly one column may be the question. */
function questionColumns(names: readonly string[]): QuestionColumns | undefined {
  const hasColumn = (name: string) => names.includes(name);
  const hasInstruction = hasColumn(INSTRUCTION);
  const contexts = hasInstruction ? CONTEXTS.filter(hasColumn) : [];
  const questions = QUESTIONS.filter((name) => hasColumn(name) && !contexts.includes(name));
  const answers = ANSWERS.filter(hasColumn);
  const [question] = questions;
  if (question === undefined || questions.length > 1 || answers.length > 1) return undefined;
  const history = hasColumn(HISTORY) ? HISTORY : undefined;
  return { question, contexts, history, answer: answers[0] };
}

/** Whether the columns are Alpaca's. */
function isAlpaca({ question, answer }: QuestionColumns): boolean {
  return question === INSTRUCTION && answer === "output";
}

/**
 * A question with its context, and the turns before it.
 * @throws KitError `DATASET_INVALID`
 */
function promptOf(
  record: Record<string, unknown>,
  { question, contexts, history }: QuestionColumns,
  where: string,
): { prompt: string; earlier: object[] } {
  const parts = [question, ...contexts].map((name) => textOf(record[name] ?? "", where, name));
  const prompt = parts.filter((part) => part.trim() !== "").join("\n\n");
  return { prompt, earlier: history === undefined ? [] : earlierTurns(record[history], where) };
}

/** @throws KitError `DATASET_INVALID` */
function textOf(value: unknown, where: string, name: string): string {
  if (typeof value === "string") return value;
  throw invalid(where, `column ${JSON.stringify(name)} is not text. Write a string in it.`);
}

/** Earlier question-answer pairs; all answers are learned, as in LLaMA-Factory. */
function earlierTurns(value: unknown, where: string): object[] {
  const isEmpty = value === undefined || value === null || value === "";
  const pairs = isEmpty ? [] : parseJsonCell(value, where, HISTORY, "a list of [question, answer]");
  const isPair = (pair: unknown): pair is [string, string] =>
    Array.isArray(pair) && pair.length === 2 && pair.every((text) => typeof text === "string");
  if (!Array.isArray(pairs) || !pairs.every(isPair)) {
    throw invalid(where, `column "${HISTORY}" is not a list of [question, answer]. Write one.`);
  }
  return pairs.flatMap(([question, answer]) => [
    { role: "user", content: question },
    { role: "assistant", content: answer },
  ]);
}
