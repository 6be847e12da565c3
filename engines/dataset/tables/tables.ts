import type { TableRow } from "./tableRow.ts";

export type TableType = "csv" | "parquet" | "json";

/**
 * Reads the rows of a table one at a time. Readers and their libraries are loaded only when a table is read.
 * @throws KitError `DATASET_UNREADABLE` without a file, `DATASET_INVALID` with where it is wrong
 */
export async function* readTable(type: TableType, path: string): AsyncGenerator<TableRow> {
  yield* await openTable(type, path);
}

async function openTable(type: TableType, path: string): Promise<AsyncGenerator<TableRow>> {
  switch (type) {
    case "csv":
      return (await import("./csv.ts")).readCsv(path);
    case "parquet":
      return (await import("./parquet.ts")).readParquet(path);
    case "json":
      return (await import("./json.ts")).readJson(path);
  }
}
