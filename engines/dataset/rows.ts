import { KitError } from "../../protocol/error.ts";
import { type OnRead, readLines } from "./lines.ts";
import { type Row, EXPECTED_ROW, parseRow } from "./row.ts";

/**
 * The rows of a JSONL file, one at a time, each checked; for every engine.
 * @throws KitError `DATASET_UNREADABLE` without a file, `DATASET_INVALID` with file and line
 */
export function* readRows(path: string, onRead?: OnRead): Generator<Row> {
  let isEmpty = true;
  for (const row of readLines(path, parseRow, onRead)) {
    isEmpty = false;
    yield row;
  }
  if (isEmpty) {
    throw new KitError(
      "DATASET_INVALID",
      `${path} has no rows. Write ${EXPECTED_ROW} on each line.`,
    );
  }
}
