import { parseJsonCell } from "../jsonError.ts";
import { invalid } from "../tables/tableRow.ts";
import { type RecordFormat, type RowColumns, CONTEXTS, HISTORY, columnNoun } from "./fields.ts";
import { extrasIn, extrasOf, fieldsIn, droppedOf } from "./values.ts";

/** A text question, with column names of public datasets. */
export function questionFormat(
  names: readonly string[],
  { answer }: RowColumns,
): RecordFormat | undefined {
  const columns = questionColumns(names);
  const needsAnswer = answer.includes("completion");
  const others = answer.filter((field) => field !== "completion");
  if (!columns || !others.every((field) => names.includes(field))) return undefined;
  if (needsAnswer !== (columns.answer !== undefined)) return undefined;
  const extras = extrasOf(names);
  const { question, contexts, history, answer: answerColumn } = columns;
  const asked = [...(history === undefined ? [] : [history]), question, ...contexts];
  const reads = [
    ...asked,
    ...(answerColumn === undefined ? [] : [answerColumn]),
    ...others,
    ...extras,
  ];
  const kind = isAlpaca(columns) ? "Alpaca" : columnNoun(reads);
  const completion = answerColumn === undefined ? "" : `, ${answerColumn} → completion`;
  return {
    reads,
    drops: droppedOf(names, reads),
    source: question,
    summary: `${kind} ${asked.join(", ")} → prompt${completion}`,
    rowOf: (record, where) => ({
      ...extrasIn(record, extras, where),
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
  const { prompt, earlier } = evalExampleOf(record, columns, where);
  const { answer } = columns;
  const asked = [...earlier, { role: "user", content: prompt }];
  if (answer === undefined) return { prompt: earlier.length === 0 ? prompt : asked };
  const completion = textOf(record[answer], where, answer);
  if (earlier.length === 0) return { prompt, completion };
  return { messages: [...asked, { role: "assistant", content: completion }] };
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

/** Undefined without exactly one candidate for the question. */
function questionColumns(names: readonly string[]): QuestionColumns | undefined {
  const isThere = (name: string) => names.includes(name);
  const hasInstruction = isThere(INSTRUCTION);
  const contexts = hasInstruction ? CONTEXTS.filter(isThere) : [];
  const questions = QUESTIONS.filter((name) => isThere(name) && !contexts.includes(name));
  const answers = ANSWERS.filter(isThere);
  const [question] = questions;
  if (question === undefined || questions.length > 1 || answers.length > 1) return undefined;
  const history = isThere(HISTORY) ? HISTORY : undefined;
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
function evalExampleOf(
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
  const isNone = value === undefined || value === null || value === "";
  const pairs = isNone ? [] : parseJsonCell(value, where, HISTORY, "a list of [question, answer]");
  const isPair = (pair: unknown): pair is [string, string] =>
    Array.isArray(pair) && pair.length === 2 && pair.every((one) => typeof one === "string");
  if (!Array.isArray(pairs) || !pairs.every(isPair)) {
    throw invalid(where, `column "${HISTORY}" is not a list of [question, answer]. Write one.`);
  }
  return pairs.flatMap(([question, answer]) => [
    { role: "user", content: question },
    { role: "assistant", content: answer },
  ]);
}
