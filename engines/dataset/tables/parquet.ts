import type { FileMetaData, RowGroup } from "hyparquet";
import { formatCount } from "../../../protocol/format.ts";
import { damaged, sound } from "./parquetDamage.ts";
import { PARSERS, createCompressors } from "./parquetDecoders.ts";
import { type ParquetFile, openParquet } from "./parquetFile.ts";
import { checkGroup, columnNames, readMetadata } from "./parquetMetadata.ts";
import { checkPages } from "./parquetPages.ts";
import { plainValue } from "./parquetValue.ts";
import type { TableRow } from "./tableRow.ts";

/** The values of a column in a row group, page by page. */
interface Column {
  name: string;
  pages: ArrayLike<unknown>[];
}

/**
 * Reads the rows of a Parquet file, with one row group at a time in memory.
 * @param needed the columns to read; the others may have what JSON doesn't. Default: all.
 * @throws KitError `DATASET_UNREADABLE` without a file, `DATASET_INVALID` with file, row and column
 */
export async function* readParquet(path: string, needed?: string[]): AsyncGenerator<TableRow> {
  const file = openParquet(path);
  try {
    const metadata = await readMetadata(path, file);
    const all = await columnNames(path, metadata);
    const names = needed ? all.filter((name) => needed.includes(name)) : all;
    let row = 0;
    for (const [index, whole] of metadata.row_groups.entries()) {
      const rows = Number(whole.num_rows);
      if (rows === 0) continue;
      const group = partOf(whole, names);
      checkGroup(path, group, index);
      await sound(path, () => checkPages(file, group));
      const columns = await readColumns(path, file, names, { ...metadata, row_groups: [group] });
      for (let left = rows; left > 0; left--) {
        const where = `${path}, row ${++row}`;
        const cells = columns.map(({ name, values }) => [
          name,
          plainValue(values.next().value, where, name),
        ]);
        yield { value: Object.fromEntries(cells) as Record<string, unknown>, where };
      }
    }
  } finally {
    file.close();
  }
}

/**
 * The names of a Parquet file's columns, also of one without rows.
 * @throws KitError `DATASET_UNREADABLE` without a file, `DATASET_INVALID`
 */
export async function parquetColumns(path: string): Promise<string[]> {
  const file = openParquet(path);
  try {
    return await columnNames(path, await readMetadata(path, file));
  } finally {
    file.close();
  }
}

/** A row group as if it had these columns alone. */
function partOf(group: RowGroup, names: string[]): RowGroup {
  const columns = group.columns.filter(({ meta_data }) =>
    names.includes(meta_data?.path_in_schema[0] ?? ""),
  );
  return { ...group, columns };
}

/** @param metadata with a single row group */
async function readColumns(
  path: string,
  file: ParquetFile,
  names: string[],
  metadata: FileMetaData,
): Promise<{ name: string; values: Iterator<unknown> }[]> {
  const rows = Number(metadata.row_groups[0]?.num_rows);
  const [{ parquetRead }, compressors] = await Promise.all([
    import("hyparquet"),
    createCompressors(),
  ]);
  const columns = names.map((name): Column => ({ name, pages: [] }));
  await sound(path, () =>
    parquetRead({
      file,
      metadata,
      compressors,
      parsers: PARSERS,
      // Bytes that the schema doesn't call text stay bytes.
      utf8: false,
      onChunk({ columnName, columnData }) {
        columns.find(({ name }) => name === columnName)?.pages.push(columnData);
      },
    }),
  );
  return columns.map(({ name, pages }) => {
    const count = pages.reduce((sum, { length }) => sum + length, 0);
    if (count === rows) return { name, values: valuesOf(pages) };
    const problem = `column ${JSON.stringify(name)} has ${formatCount(count)} values for ${formatCount(rows)} rows`;
    throw damaged(path, new Error(problem));
  });
}

function* valuesOf(pages: ArrayLike<unknown>[]): Generator<unknown> {
  for (const page of pages) yield* page as Iterable<unknown> & ArrayLike<unknown>;
}
