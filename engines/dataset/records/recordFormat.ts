import { basename } from "node:path";
import { isRecord } from "../../../protocol/isRecord.ts";
import { keysOf } from "../../../protocol/json.ts";
import type { IgnoredKeys } from "../ignoredKeys.ts";
import { isPairKey } from "../rowObject.ts";
import { invalid } from "../tables/tableRow.ts";
import { columnsFormat, ownFormat, sameNames } from "./columnsFormat.ts";
import { conversationFormat } from "./conversationFormat.ts";
import {
  type Columns,
  type Field,
  type RecordFormat,
  type RowColumns,
  DEMONSTRATION_COLUMNS,
  columnEntries,
} from "./fields.ts";
import { questionFormat } from "./questionFormat.ts";

export interface RecordFormatOptions {
  /** The dataset's option. Default: detected from the column names. */
  columns?: Columns | undefined;
  /** Default: demonstrations and plain texts. */
  rows?: RowColumns;
  /** Whether the names are a table's columns, all of them intended. */
  isTable?: boolean;
}

/** Maximum columns that an error lists. */
const MAX_LISTED = 20;

/**
 * Detects how records with these columns become rows.
 * @param where for errors: a file, or file and line
 * @returns undefined for records of an unknown format outside a table, which `parse` then refuses
 * @throws KitError `DATASET_INVALID` for missing columns, APIGen's rows, or a table of an unknown format
 */
export function recordFormat(
  names: readonly string[],
  where: string,
  { columns, rows = DEMONSTRATION_COLUMNS, isTable = true }: RecordFormatOptions = {},
): RecordFormat | undefined {
  if (columns) {
    const [missing] = columnEntries(columns).filter(([, column]) => !names.includes(column));
    if (missing === undefined) return columnsFormat(columns, names);
    throw invalid(
      where,
      `no column ${JSON.stringify(missing[1])}. Set columns.${missing[0]} to one of ${listNames(names)}.`,
    );
  }
  if (names.includes("query") && names.includes("answers")) {
    throw invalid(
      where,
      'APIGen rows, with a "query" and "answers", need a map that returns {"messages":[…],"tools":[…]}, with the answers as "tool_calls".',
    );
  }
  const isPair = names.some(isPairKey);
  // `parse` refuses pairs and names the right objective.
  if (!isTable && rows === DEMONSTRATION_COLUMNS && isPair) return undefined;
  const hasAll = (fields: readonly Field[]) => fields.every((field) => names.includes(field));
  const formatOf = (fields: readonly Field[]) =>
    isTable ? columnsFormat(sameNames(fields), names) : ownFormat(names);
  const ownFields = rows.formats.find(hasAll);
  if (ownFields) return formatOf(ownFields);
  const conversation = conversationFormat(names, rows);
  if (conversation) return conversation;
  const question = questionFormat(names, rows);
  const fallback = rows.fallback && hasAll(rows.fallback) ? formatOf(rows.fallback) : undefined;
  // Alpaca's own file also has the whole row as a text.
  const prefersQuestion = rows !== DEMONSTRATION_COLUMNS || question?.source === "instruction";
  const format = prefersQuestion ? (question ?? fallback) : (fallback ?? question);
  if (format || !isTable) return format;
  throw invalid(
    where,
    `Kit cannot tell which columns to learn from among ${listNames(names)}. Set columns, for example ${exampleColumns(rows)}.`,
  );
}

/** Example columns for a question with other names. */
function exampleColumns({ formats }: RowColumns): string {
  const format = formats.find((fields) => fields.includes("prompt")) ?? [];
  return `{ ${format.map((field) => `${field}: "${OTHER_NAMES[field] ?? field}"`).join(", ")} }`;
}

const OTHER_NAMES: Partial<Record<Field, string>> = {
  prompt: "question",
  completion: "answer",
  chosen: "better",
  rejected: "worse",
  label: "good",
};

function listNames(names: readonly string[]): string {
  const shown = names.slice(0, MAX_LISTED).map((name) => JSON.stringify(name));
  const more = names.length - shown.length;
  return shown.join(", ") + (more > 0 ? ` and ${more} others` : "");
}

export interface RecordMapperOptions extends RecordFormatOptions {
  /** Whether records may have different keys. */
  isRagged: boolean;
  ignored: IgnoredKeys;
  /** Called with a description of each format, once. */
  onNote: (text: string) => void;
}

/** Converts records to Kit's own formats, each by its own keys. */
export function createRecordMapper({ isRagged, ignored, onNote, ...options }: RecordMapperOptions) {
  const reported = new Set<string>();
  return {
    /**
     * @returns the record itself if its format is unknown, for `parse` to refuse
     * @throws KitError `DATASET_INVALID`, its message beginning with `where`
     */
    rowOf(record: unknown, where: string): unknown {
      if (!isRecord(record)) return record;
      const keys = keysOf(record);
      // LLaMA-Factory's name for a label.
      if (!options.isTable && keys.includes("kto_tag") && !keys.includes("label")) {
        const { kto_tag: label, ...rest } = record;
        return this.rowOf({ ...rest, label }, where);
      }
      // Libraries write missing keys as null.
      const mayLackKeys = isRagged && options.columns === undefined;
      const names = mayLackKeys ? keys.filter((name) => record[name] !== null) : keys;
      const format = recordFormat(names, where, options);
      if (!format) return record;
      if (format.source !== undefined && !reported.has(format.source)) {
        reported.add(format.source);
        onNote(`${fileOf(where)}: ${format.summary}`);
      }
      ignored.addUnused(record, format.reads, format.drops);
      return format.rowOf(record, where);
    },
  };
}

function fileOf(where: string): string {
  return basename(where.replace(/(?::\d+|, row \d+)$/, ""));
}
