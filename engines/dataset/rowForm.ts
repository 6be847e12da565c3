import type { IgnoredKeys } from "./ignoredKeys.ts";

/** How the rows of a kind are written and read. */
export interface RowForm<Row extends object> {
  /** The forms of a line, for error messages. */
  expected: string;
  /** @throws KitError `DATASET_INVALID`, its message beginning with `where` */
  parse: (text: string, where: string, ignored?: IgnoredKeys) => Row;
  /** The texts that are learned as answers, for people. */
  answersOf?(row: Row): string[];
  /** Whether a model learns from it to say nothing. */
  isEmpty(row: Row): boolean;
  /** Whether it is one long text, which is cut into pieces rather than shortened. */
  isText(row: Row): boolean;
}
