import { statSync } from "node:fs";
import { KitError } from "../../protocol/error.ts";
import { type DatasetPath, datasetPaths } from "../../protocol/trainConfig.ts";
import { isUrl } from "../../protocol/url.ts";
import { createEmptyAnswers } from "./emptyAnswers.ts";
import { datasetFiles } from "./files.ts";
import { type OnRead, readLines } from "./lines.ts";
import { type Row, EXPECTED_ROW, parseRow } from "./row.ts";

/**
 * Reads the rows of a dataset's files one at a time, and checks each; for every engine. Rows at URLs are
 * skipped here: the cluster's workers read and check them.
 * @param onRead gets the bytes of all files
 * @param onNote takes a line on rows that are probably a mistake
 * @throws KitError `DATASET_UNREADABLE` without a file, `DATASET_INVALID` with file and line
 */
export function* readRows(
  path: DatasetPath,
  onRead?: OnRead,
  onNote: (text: string) => void = () => {},
): Generator<Row> {
  const all = datasetFiles(path);
  const files = all.filter((file) => !isUrl(file));
  const size = files.reduce((sum, file) => sum + sizeOf(file), 0);
  let before = 0;
  // This machine does not read URLs, so it knows nothing of their rows.
  let isEmpty = files.length === all.length;
  const emptyAnswers = createEmptyAnswers();
  const parse = (text: string, where: string) => emptyAnswers.see(parseRow(text, where), where);
  for (const file of files) {
    let read = 0;
    const onFileRead: OnRead = (bytes) => {
      read = bytes;
      onRead?.(before + read, size);
    };
    for (const row of readLines(file, parse, onFileRead)) {
      isEmpty = false;
      yield row;
    }
    before += read;
  }
  if (isEmpty) {
    throw new KitError(
      "DATASET_INVALID",
      `${nameOf(path)} has no rows. Write ${EXPECTED_ROW} on each line.`,
    );
  }
  emptyAnswers.tell(nameOf(path), onNote);
}

/** The dataset as errors name it. */
export function nameOf(path: DatasetPath): string {
  return datasetPaths(path).join(", ");
}

function sizeOf(file: string): number {
  try {
    return statSync(file).size;
  } catch {
    // Reading the file will say why.
    return 0;
  }
}
