import { defined } from "../../../protocol/isRecord.ts";
import { type Columns, type Field, type RecordForm, FIELDS, counted, named } from "./fields.ts";
import { CONVERSED, besideIn, besideOf, conversationOf, fieldOf, lostOf } from "./parts.ts";

/** Named columns, and those that stand beside any question. */
export function columnsForm(columns: Columns, names: readonly string[]): RecordForm {
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
        Object.fromEntries(
          parts.map(([field, column]) => [field, fieldOf(field, record[column], where, column)]),
        ),
      ),
    }),
  };
}

/** Kit's own names in a record that may have others, which `parse` counts. */
export function ownForm(names: readonly string[]): RecordForm {
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

export function sameNames(fields: readonly Field[]): Columns {
  return Object.fromEntries(fields.map((field) => [field, field]));
}
