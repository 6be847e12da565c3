import { KitError } from "../../protocol/error.ts";
import { formatCount, formatCounted } from "../../protocol/format.ts";
import type { RowForm } from "./rowForm.ts";

/** Counts the rows from which a model learns to say nothing. */
export function createEmptyAnswers<Row extends object>(form: RowForm<Row>) {
  let rows = 0;
  let empty = 0;
  let first = "";
  return {
    /** @param where file and line */
    see(row: Row, where: string): Row {
      rows++;
      if (form.isEmpty(row) && ++empty === 1) first = where;
      return row;
    },
    /**
     * A single one may be meant, but not all.
     * @param name the dataset as errors name it
     * @throws KitError `DATASET_INVALID`
     */
    tell(name: string, note: (text: string) => void): void {
      if (empty === 0) return;
      if (empty === rows) {
        throw new KitError(
          "DATASET_INVALID",
          `Every row of ${name} has an empty answer or text. Write ${form.expected} on each line.`,
        );
      }
      const of = `${formatCount(empty)} of ${formatCounted(rows, "row")}`;
      note(`warning: an empty answer or text in ${of}\n  the first is ${first}`);
    },
  };
}
