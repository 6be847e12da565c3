import { brotliDecompressSync, gunzipSync } from "node:zlib";
import type {
  Compressors,
  ConvertedType,
  FileMetaData,
  ParquetParsers,
  RowGroup,
  SchemaElement,
} from "hyparquet";
import { formatCount } from "../../../protocol/format.ts";
import { parseJson } from "../../../protocol/json.ts";
import { type ParquetFile, damaged, openParquet, sound } from "./parquetFile.ts";
import {
  MOST_GROUP_BYTES,
  checkGroup,
  checkPages,
  columnsOf,
  readMetadata,
} from "./parquetMetadata.ts";
import { writerOf } from "./parquetValue.ts";
import { type TableRow, invalid } from "./tableRow.ts";

/** What any file's texts may take: a small one must not fill the disk before it is refused. */
const MIN_TEXT_BYTES = 2 ** 26;
/** Above that. */
const MAX_EXPANSION = 1_000;

/**
 * Reads the rows of a Parquet file, with one row group at a time in memory.
 * @param needed the columns to read; the others may have what JSON doesn't. Default: all.
 * @throws KitError `DATASET_UNREADABLE` without a file, `DATASET_INVALID` with file, row and column
 */
export async function* readParquet(path: string, needed?: string[]): AsyncGenerator<TableRow> {
  const file = openParquet(path);
  try {
    const metadata = await readMetadata(path, file);
    const onText = createTextLimit(path, file.byteLength);
    const schema = await columnsOf(path, metadata);
    const columns = schema
      .filter(({ element: { name } }) => needed?.includes(name) ?? true)
      .map((column) => ({ name: column.element.name, write: writerOf(column, onText) }));
    const names = new Set(columns.map(({ name }) => name));
    const decoded = { ...metadata, schema: decodedAs(metadata.schema) };
    let row = 0;
    for (const [index, whole] of metadata.row_groups.entries()) {
      const rows = Number(whole.num_rows);
      if (rows === 0) continue;
      const group = partOf(whole, names);
      checkGroup(path, group, index);
      await sound(path, () => checkPages(file, group));
      const values = await readColumns(path, file, names, { ...decoded, row_groups: [group] });
      for (let left = rows; left > 0; left--) {
        const where = `${path}, row ${++row}`;
        const cells = columns.map(({ name, write }) => [
          name,
          // A column without a value is none.
          write(values.get(name)?.next().value, where) ?? undefined,
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
    const columns = await columnsOf(path, await readMetadata(path, file));
    return columns.map(({ element }) => element.name);
  } finally {
    file.close();
  }
}

/** Texts that occur often take a few bits each in the file, and their whole length in a job's folder. */
function createTextLimit(path: string, bytes: number): (length: number) => void {
  let left = MIN_TEXT_BYTES + MAX_EXPANSION * bytes;
  return (length) => {
    left -= length;
    if (left >= 0) return;
    throw invalid(
      path,
      `its texts take more than ${formatCount(MAX_EXPANSION)} times the file. Leave out rows that occur again and again.`,
    );
  };
}

/** A row group as if it had these columns alone. */
function partOf(group: RowGroup, names: Set<string>): RowGroup {
  const columns = group.columns.filter(({ meta_data }) =>
    names.has(meta_data?.path_in_schema[0] ?? ""),
  );
  return { ...group, columns };
}

/** @param metadata with a single row group */
async function readColumns(
  path: string,
  file: ParquetFile,
  names: Set<string>,
  metadata: FileMetaData,
): Promise<Map<string, Iterator<unknown>>> {
  const rows = Number(metadata.row_groups[0]?.num_rows);
  const [{ parquetRead }, compressors] = await Promise.all([
    import("hyparquet"),
    createCompressors(),
  ]);
  // The values of each column, page by page.
  const pages = new Map([...names].map((name): [string, ArrayLike<unknown>[]] => [name, []]));
  await sound(path, () =>
    parquetRead({
      file,
      metadata,
      compressors,
      parsers: PARSERS,
      // Bytes that the schema doesn't call text stay bytes.
      utf8: false,
      onChunk: ({ columnName, columnData }) => void pages.get(columnName)?.push(columnData),
    }),
  );
  const columns = [...pages].map(([name, all]): [string, Iterator<unknown>] => {
    const count = all.reduce((sum, { length }) => sum + length, 0);
    if (count === rows) return [name, valuesOf(all)];
    const problem = `column ${JSON.stringify(name)} has ${formatCount(count)} values for ${formatCount(rows)} rows`;
    throw damaged(path, new Error(problem));
  });
  return new Map(columns);
}

function* valuesOf(pages: ArrayLike<unknown>[]): Generator<unknown> {
  for (const page of pages) yield* page as Iterable<unknown> & ArrayLike<unknown>;
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The library writes a replacement character for what is not UTF-8. Bytes are refused later, with their row. */
function text(bytes: Uint8Array): string | Uint8Array {
  try {
    return decoder.decode(bytes);
  } catch {
    return bytes;
  }
}

function json(bytes: Uint8Array): unknown {
  const source = text(bytes);
  if (typeof source !== "string") return source;
  try {
    return parseJson(source);
  } catch {
    // As text, which is refused where a list is needed.
    return source;
  }
}

/** What `writerOf` reads: moments stay numbers, which no `Date` has in full. */
export const PARSERS: Partial<ParquetParsers> = {
  stringFromBytes: text,
  jsonFromBytes: json,
  dateFromDays: (days) => days,
  timestampFromMilliseconds: (count) => count,
  timestampFromMicroseconds: (count) => count,
  timestampFromNanoseconds: (count) => count,
};

/** Converted by the library to numbers that lose digits, or not at all. */
const RAW: (ConvertedType | undefined)[] = ["DECIMAL", "INTERVAL", "BSON"];

/** The schema as the library shall read it. */
export function decodedAs(schema: SchemaElement[]): SchemaElement[] {
  return schema.map(({ converted_type: type, ...element }) =>
    type === undefined || RAW.includes(type) ? element : { ...element, converted_type: type },
  );
}

/** Of one row group: its pages may together be as large as a row group. */
export async function createCompressors(): Promise<Compressors> {
  const { compressors, decompressZstd } = await import("hyparquet-compressors");
  let left = MOST_GROUP_BYTES;
  const bounded: Compressors = {
    ...compressors,
    // Node's are faster.
    GZIP: (input, length) => gunzipSync(input, { maxOutputLength: Math.max(1, length) }),
    BROTLI: (input, length) =>
      brotliDecompressSync(input, { maxOutputLength: Math.max(1, length) }),
    // The library's own grows to whatever the page has.
    ZSTD: (input, length) => decompressZstd(input, new Uint8Array(length)),
  };
  return Object.fromEntries(
    Object.entries(bounded).map(([name, decompress]) => [
      name,
      (input: Uint8Array, length: number) => {
        left -= length;
        if (!(length >= 0 && left >= 0)) throw new Error("its pages are larger than it says");
        return decompress(input, length);
      },
    ]),
  );
}
