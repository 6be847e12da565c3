import { omitUndefined } from "../../../protocol/isRecord.ts";
import {
  type Columns,
  type Field,
  type RecordFormat,
  FIELDS,
  columnNoun,
  columnEntries,
} from "./fields.ts";
import {
  MESSAGE_FIELDS,
  extrasIn,
  extrasOf,
  conversationOf,
  fieldOf,
  unreadContexts,
} from "./values.ts";

/** Reads the columns that the user named, and extras such as tools. */
export function columnsFormat(columns: Columns, names: readonly string[]): RecordFormat {
  const entries = columnEntries(columns);
  const isRead = (name: string) =>
    entries.some(([field, column]) => field === name || column === name);
  const isText = columns.text !== undefined;
  const extras = isText ? [] : extrasOf(names).filter((name) => !isRead(name));
  const reads = [...entries.map(([, column]) => column), ...extras];
  const isRenamed = entries.some(([field, column]) => field !== column);
  const renames = entries.map(([field, column]) =>
    field === column ? field : `${column} → ${field}`,
  );
  return {
    reads,
    drops: columns.prompt === undefined ? [] : unreadContexts(names, reads),
    ...(isRenamed && {
      source: "columns",
      summary: `${columnNoun(reads)} ${[...renames, ...extras].join(", ")}`,
    }),
    rowOf: (record, where) => ({
      ...extrasIn(record, extras, where),
      ...omitUndefined(
        Object.fromEntries(
          entries.map(([field, column]) => [field, fieldOf(field, record[column], where, column)]),
        ),
      ),
    }),
  };
}

/** Reads a record with Kit's own names. `parse` counts other keys as ignored. */
export function ownFormat(names: readonly string[]): RecordFormat {
  const fields = FIELDS.filter((field) => names.includes(field) && MESSAGE_FIELDS.has(field));
  return {
    reads: names,
    drops: names.includes("prompt") ? unreadContexts(names, []) : [],
    rowOf: (record, where) => ({
      ...record,
      ...extrasIn(record, extrasOf(names), where),
      ...Object.fromEntries(
        fields.map((field) => [field, conversationOf(field, record[field], where, field)]),
      ),
    }),
  };
}

export function sameNames(fields: readonly Field[]): Columns {
  return Object.fromEntries(fields.map((field) => [field, field]));
}
