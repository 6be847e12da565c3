import { type DatasetPath, datasetPaths } from "../../protocol/dataset.ts";
import { parseJson } from "../../protocol/json.ts";
import { isUrl } from "../../protocol/url.ts";
import { datasetFiles } from "./files.ts";
import { type OnRead, readLines } from "./lines.ts";

/**
 * Reads the rows that Kit wrote, one at a time, without checking them. Skips URLs, which the cluster's
 * workers read and check.
 * @throws KitError `DATASET_UNREADABLE` without a file
 */
export function* readRows<Row>(
  path: DatasetPath,
  onRead?: OnRead,
): Generator<{ row: Row; where: string }> {
  const parse = (line: string, where: string) => ({ row: parseJson(line) as Row, where });
  for (const file of datasetFiles(path)) {
    if (!isUrl(file)) yield* readLines(file, parse, onRead);
  }
}

/** The dataset's name in messages. */
export function nameOf(path: DatasetPath): string {
  return datasetPaths(path).join(", ");
}
