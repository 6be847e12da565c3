import type { TemplateInput } from "../../protocol/chat.ts";
import { problemOfKwargs } from "../../protocol/chatFaults.ts";
import type { DatasetRow } from "../../protocol/dataset.ts";
import { KitError } from "../../protocol/error.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import type { IgnoredKeys } from "./ignoredKeys.ts";
import type { RowColumns } from "./records/fields.ts";

/** Watches all rows of a dataset for what no single row shows. */
export interface RowWatch<Row extends object> {
  /** @param where file and line */
  see(row: Row, where: string): void;
  /**
   * @param name the dataset as errors name it
   * @throws KitError `DATASET_INVALID` for rows that cannot be trained on
   */
  tell(name: string, note: (text: string) => void): void;
}

/** How the rows of a kind are written and read. */
export interface RowForm<Row extends object> {
  /** The forms of a line, for error messages. */
  expected: string;
  /**
   * @param value as `parseJson` gives it
   * @throws KitError `DATASET_INVALID`, its message beginning with `where`
   */
  parse: (value: unknown, where: string, ignored?: IgnoredKeys) => Row;
  /** How records have them. */
  columns: RowColumns;
  /** The texts that are learned as answers, for people. */
  answersOf?(row: Row): string[];
  /** The row as a question with a right answer; undefined if its answer is wrong. */
  rightAnswerOf(row: Row): DatasetRow | undefined;
  /** Watches a dataset for what no single row shows. Default: nothing is watched. */
  watch?(): RowWatch<Row>;
  /** Whether it is one long text, which is cut into pieces rather than shortened. */
  isText(row: Row): boolean;
}

const NAME = "chat_template_kwargs";

/** Rows of a form that may have variables of the chat template, too, as TRL's may. */
export function withKwargs<Row extends object>(form: RowForm<Row>): RowForm<Row> {
  return {
    ...form,
    parse(value, where, ignored) {
      const row = form.parse(value, where, ignored);
      const kwargs = isRecord(value) ? (value[NAME] ?? undefined) : undefined;
      if (kwargs === undefined) return row;
      const problem = form.isText(row) ? 'stands beside a "text"' : problemOfKwargs(kwargs);
      if (problem === undefined) return { ...row, [NAME]: kwargs };
      throw new KitError(
        "DATASET_INVALID",
        `${where}: "${NAME}" ${problem}. Write it beside a conversation as {"${NAME}":{"enable_thinking":false}}, or remove it.`,
      );
    },
    rightAnswerOf(row) {
      const answer = form.rightAnswerOf(row);
      const { [NAME]: kwargs } = row as TemplateInput;
      return answer && kwargs ? { ...answer, [NAME]: kwargs } : answer;
    },
  };
}
