import type { TableRow } from "./tableRow.ts";

export type TableType = "csv" | "parquet" | "json";

/**
 * Reads a table's rows one at a time. Loads readers and their libraries lazily.
 * @param needed the columns to read from a Parquet file. Default: all.
 * @throws KitError `DATASET_UNREADABLE` without a file, `DATASET_INVALID` with the location
 */
export async function* readTable(
  type: TableType,
  path: string,
  needed?: string[],
): AsyncGenerator<TableRow> {
  yield* await openTable(type, path, needed);
}

/**
 * A table's column names: all of a Parquet file's, those of the first row otherwise.
 * @throws KitError `DATASET_UNREADABLE` without a file, `DATASET_INVALID` with the location
 */
export async function tableColumns(type: TableType, path: string): Promise<string[]> {
  if (type === "parquet") return (await import("./parquet.ts")).parquetColumns(path);
  for await (const { value } of readTable(type, path)) return Object.keys(value);
  return [];
}

async function openTable(
  type: TableType,
  path: string,
  needed: string[] | undefined,
): Promise<AsyncIterable<TableRow> | Iterable<TableRow>> {
  switch (type) {
    case "csv":
      return (await import("./csv.ts")).readCsv(path);
    case "parquet":
      return (await import("./parquet.ts")).readParquet(path, needed);
    case "json":
      return (await import("./json.ts")).readJson(path);
  }
}
