import { statSync } from "node:fs";
import { type DatasetPath, datasetPaths } from "../../protocol/dataset.ts";
import { KitError } from "../../protocol/error.ts";
import { isUrl } from "../../protocol/url.ts";
import { datasetFiles } from "./files.ts";
import { createIgnoredKeys } from "./ignoredKeys.ts";
import { parseJsonLine } from "./jsonLine.ts";
import { type OnRead, readLines } from "./lines.ts";
import type { RowForm } from "./rowForm.ts";

export interface ReadRowsOptions {
  /** Gets the bytes of all files. */
  onRead?: OnRead;
  /** Takes lines for people after the last row: what the form's watch found, and ignored keys. */
  onNote?: (text: string) => void;
  /** Takes the file and line of each row, before the row. */
  onPlace?: ((where: string) => void) | undefined;
}

/**
 * Reads the rows of a dataset's files one at a time, and checks each; for every engine. Rows at URLs are
 * skipped here: the cluster's workers read and check them.
 * @throws KitError `DATASET_UNREADABLE` without a file, `DATASET_INVALID` with file and line
 */
export function* readRows<Row extends object>(
  path: DatasetPath,
  form: RowForm<Row>,
  { onRead, onNote = () => {}, onPlace }: ReadRowsOptions = {},
): Generator<Row> {
  const all = datasetFiles(path);
  const files = all.filter((file) => !isUrl(file));
  const size = files.reduce((sum, file) => sum + sizeOf(file), 0);
  const ignored = createIgnoredKeys();
  let before = 0;
  // This machine does not read URLs, so it knows nothing of their rows.
  let isEmpty = files.length === all.length;
  const watch = form.watch?.();
  const parse = (line: string, where: string) => {
    onPlace?.(where);
    const row = form.parse(parseJsonLine(line, where, form.expected), where, ignored);
    watch?.see(row, where);
    return row;
  };
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
      `${nameOf(path)} has no rows. Write ${form.expected} on each line.`,
    );
  }
  watch?.tell(nameOf(path), onNote);
  ignored.notes(nameOf(path)).forEach(onNote);
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
