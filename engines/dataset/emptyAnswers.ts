import { KitError } from "../../protocol/error.ts";
import { formatCount, formatCounted } from "../../protocol/format.ts";
import type { RowWatch } from "./rowForm.ts";

/**
 * Counts the rows from which a model learns to say nothing. A single one may be meant, but not all.
 * @param expected the forms of a line, for the error
 */
export function watchEmptyAnswers<Row extends object>(
  isEmpty: (row: Row) => boolean,
  expected: string,
): RowWatch<Row> {
  let rows = 0;
  let empty = 0;
  let first = "";
  return {
    see(row, where) {
      rows++;
      if (isEmpty(row) && ++empty === 1) first = where;
    },
    tell(name, note) {
      if (empty === 0) return;
      if (empty === rows) {
        throw new KitError(
          "DATASET_INVALID",
          `Every row of ${name} has an empty answer or text. Write ${expected} on each line.`,
        );
      }
      const of = `${formatCount(empty)} of ${formatCounted(rows, "row")}`;
      note(`warning: an empty answer or text in ${of}\n  the first is ${first}`);
    },
  };
}
