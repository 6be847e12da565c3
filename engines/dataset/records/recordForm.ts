import { isOfPair } from "../rowObject.ts";
import { invalid } from "../tables/tableRow.ts";
import { columnsForm, ownForm, sameNames } from "./columnsForm.ts";
import { conversationForm } from "./conversationForm.ts";
import {
  type Columns,
  type Field,
  type RecordForm,
  type RowColumns,
  ANSWERS,
  named,
} from "./fields.ts";
import { questionForm } from "./questionForm.ts";

export interface FormOptions {
  /** As asked for. Default: by the names of the columns. */
  columns?: Columns | undefined;
  /** What a row may be. Default: right answers, and texts. */
  rows?: RowColumns;
  /** Whether the names are those of a table, so that each is a column that is meant. */
  isTable?: boolean;
}

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
  if (names.includes("query") && names.includes("answers")) {
    throw invalid(
      where,
      'rows of APIGen, with a "query" and "answers", need a map: make {"messages":[…],"tools":[…]} of each, with its answers as "tool_calls".',
    );
  }
  const isOther = names.some(isOfPair);
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

function list(names: readonly string[]): string {
  const shown = names.slice(0, MOST_NAMED).map((name) => JSON.stringify(name));
  const more = names.length - shown.length;
  return shown.join(", ") + (more > 0 ? ` and ${more} others` : "");
}
