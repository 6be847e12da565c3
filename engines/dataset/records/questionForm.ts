import { type RecordForm, type RowColumns, counted } from "./fields.ts";
import { besideIn, besideOf, fieldsIn, lostOf } from "./parts.ts";
import {
  type QuestionColumns,
  isAlpaca,
  questionColumns,
  questionOf,
  textOf,
} from "./questions.ts";

/** A question that is text, by the names of public data. */
export function questionForm(
  names: readonly string[],
  { answer }: RowColumns,
): RecordForm | undefined {
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
