import { basename } from "node:path";
import { isRecord } from "../../../protocol/isRecord.ts";
import { keysOf } from "../../../protocol/json.ts";
import type { IgnoredKeys } from "../ignoredKeys.ts";
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
 * @returns undefined for records of an unknown form outside a table: `parse` says what is wrong
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

export interface RecordMapperOptions extends FormOptions {
  /** Whether a record may lack keys that others have. */
  isRagged: boolean;
  ignored: IgnoredKeys;
  /** Takes a line for people on each form, once. */
  onNote: (text: string) => void;
}

/** Makes rows in Kit's own forms of a dataset's records, each by its own keys. */
export function createRecordMapper({ isRagged, ignored, onNote, ...options }: RecordMapperOptions) {
  const told = new Set<string>();
  return {
    /**
     * @returns the record itself, where its form is unknown: `parse` says what is wrong
     * @throws KitError `DATASET_INVALID`, its message beginning with `where`
     */
    rowOf(record: unknown, where: string): unknown {
      if (!isRecord(record)) return record;
      const all = keysOf(record);
      // LLaMA-Factory's name of a label.
      if (!options.isTable && all.includes("kto_tag") && !all.includes("label")) {
        const { kto_tag: label, ...rest } = record;
        return this.rowOf({ ...rest, label }, where);
      }
      // Libraries write a key that a record lacks as null.
      const isPart = isRagged && options.columns === undefined;
      const names = isPart ? all.filter((name) => record[name] !== null) : all;
      const form = recordForm(names, where, options);
      if (!form) return record;
      if (form.source !== undefined && !told.has(form.source)) {
        told.add(form.source);
        onNote(`${fileOf(where)}: ${form.told}`);
      }
      ignored.leave(record, form.reads, form.loses);
      return form.rowOf(record, where);
    },
  };
}

function fileOf(where: string): string {
  return basename(where.replace(/(?::\d+|, row \d+)$/, ""));
}
