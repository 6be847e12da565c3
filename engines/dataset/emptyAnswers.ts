import { KitError } from "../../protocol/error.ts";
import { formatCount, formatCounted } from "../../protocol/format.ts";
import { type Row, EXPECTED_ROW } from "./row.ts";

/** Counts the rows from which a model learns to say nothing. */
export function createEmptyAnswers() {
  let rows = 0;
  let empty = 0;
  let first = "";
  return {
    /** @param where file and line */
    see(row: Row, where: string): Row {
      rows++;
      if (hasEmptyAnswer(row) && ++empty === 1) first = where;
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
          `Every row of ${name} has an empty answer or text. Write ${EXPECTED_ROW} on each line.`,
        );
      }
      const of = `${formatCount(empty)} of ${formatCounted(rows, "row")}`;
      note(`warning: an empty answer or text in ${of}\n  the first is ${first}`);
    },
  };
}

function hasEmptyAnswer(row: Row): boolean {
  if ("text" in row) return isBlank(row.text);
  if ("completion" in row) return isBlank(row.completion);
  return row.messages.some(({ role, content }) => role === "assistant" && isBlank(content));
}

function isBlank(text: string): boolean {
  return text.trim() === "";
}
