import type { TemplateInput } from "../../protocol/chat.ts";
import { problemOfKwargs } from "../../protocol/chatFaults.ts";
import type { DatasetRow } from "../../protocol/dataset.ts";
import { KitError } from "../../protocol/error.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import type { IgnoredKeys } from "./ignoredKeys.ts";
import type { RowColumns } from "./records/fields.ts";

/** Finds problems that show only in all rows of a dataset together. */
export interface DatasetCheck<Row extends object> {
  /** @param where file and line */
  add(row: Row, where: string): void;
  /**
   * @param name the dataset's name in messages
   * @throws KitError `DATASET_INVALID` for rows that cannot be trained on
   */
  report(name: string, note: (text: string) => void): void;
}

/** How one kind of row is written in files, and read. */
export interface RowFormat<Row extends object> {
  /** The formats of a line, for errors. */
  expected: string;
  /**
   * @param value as `parseJson` returns it
   * @throws KitError `DATASET_INVALID`, its message beginning with `where`
   */
  parse: (value: unknown, where: string, ignored?: IgnoredKeys) => Row;
  /** The columns of records that become rows. */
  columns: RowColumns;
  /** The learned texts of a row's answers, for display. */
  answersOf?(row: Row): string[];
  /** The row as a question with a correct answer; undefined if its answer is undesirable. */
  rightAnswerOf(row: Row): DatasetRow | undefined;
  /** Default: no check. */
  createCheck?(): DatasetCheck<Row>;
  /** Whether the row is one long text, which is split into chunks rather than truncated. */
  isText(row: Row): boolean;
}

const KEY = "chat_template_kwargs";

/** Adds TRL's `chat_template_kwargs` to a format. */
export function withKwargs<Row extends object>(format: RowFormat<Row>): RowFormat<Row> {
  return {
    ...format,
    parse(value, where, ignored) {
      const row = format.parse(value, where, ignored);
      const kwargs = isRecord(value) ? (value[KEY] ?? undefined) : undefined;
      if (kwargs === undefined) return row;
      const problem = format.isText(row) ? 'stands beside a "text"' : problemOfKwargs(kwargs);
      if (problem === undefined) return { ...row, [KEY]: kwargs };
      throw new KitError(
        "DATASET_INVALID",
        `${where}: "${KEY}" ${problem}. Write it beside a conversation as {"${KEY}":{"enable_thinking":false}}, or remove it.`,
      );
    },
    rightAnswerOf(row) {
      const answer = format.rightAnswerOf(row);
      const { [KEY]: kwargs } = row as TemplateInput;
      return answer && kwargs ? { ...answer, [KEY]: kwargs } : answer;
    },
  };
}
