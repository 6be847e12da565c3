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
import { type ParquetFile, damaged, openParquet, withDamagedError } from "./parquetFile.ts";
import {
  MAX_GROUP_BYTES,
  checkGroup,
  checkPages,
  columnsOf,
  readMetadata,
} from "./parquetMetadata.ts";
import { converterOf } from "./parquetValue.ts";
import { type TableRow, invalid } from "./tableRow.ts";

/** Maximum text of any file once expanded, since a small malicious file must not fill the disk. */
const BASE_TEXT_BYTES = 2 ** 26;
/** Additional maximum text, as a multiple of the file's size. */
const MAX_EXPANSION = 1_000;

/**
 * Reads the rows of a Parquet file, with one row group at a time in memory.
 * @param needed the columns to read; others may hold values that JSON can't. Default: all.
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
      .map((column) => ({ name: column.element.name, convert: converterOf(column, onText) }));
    const names = new Set(columns.map(({ name }) => name));
    const decoded = { ...metadata, schema: withoutLossyConversions(metadata.schema) };
    let row = 0;
    for (const [index, fullGroup] of metadata.row_groups.entries()) {
      const rows = Number(fullGroup.num_rows);
      if (rows === 0) continue;
      const group = selectColumns(fullGroup, names);
      checkGroup(path, group, index);
      await withDamagedError(path, () => checkPages(file, group));
      const values = await readColumns(path, file, names, { ...decoded, row_groups: [group] });
      for (let left = rows; left > 0; left--) {
        const where = `${path}, row ${++row}`;
        const cells = columns.map(({ name, convert }) => [
          name,
          // Drops columns without a value.
          convert(values.get(name)?.next().value, where) ?? undefined,
        ]);
        yield { value: Object.fromEntries(cells) as Record<string, unknown>, where };
      }
    }
  } finally {
    file.close();
  }
}

/**
 * The column names of a Parquet file, even one without rows.
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

/** Repeated texts take a few bits each in the file, but their full length in a job's folder. */
function createTextLimit(path: string, bytes: number): (length: number) => void {
  let remaining = BASE_TEXT_BYTES + MAX_EXPANSION * bytes;
  return (length) => {
    remaining -= length;
    if (remaining >= 0) return;
    throw invalid(
      path,
      `its texts expand to more than ${formatCount(MAX_EXPANSION)} times the file's size. Remove repeated rows.`,
    );
  };
}

/** A row group restricted to some columns. */
function selectColumns(group: RowGroup, names: Set<string>): RowGroup {
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
  await withDamagedError(path, () =>
    parquetRead({
      file,
      metadata,
      compressors,
      parsers: PARSERS,
      // Keeps bytes that the schema doesn't declare as text.
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

/** Text, or bytes that aren't UTF-8, which are refused later with their row. */
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
    // Stays text; refused where a list is needed.
    return source;
  }
}

/** Parsers for `converterOf`: timestamps stay numbers, since `Date` loses precision. */
export const PARSERS: Partial<ParquetParsers> = {
  stringFromBytes: text,
  jsonFromBytes: json,
  dateFromDays: (days) => days,
  timestampFromMilliseconds: (count) => count,
  timestampFromMicroseconds: (count) => count,
  timestampFromNanoseconds: (count) => count,
};

/** Types that hyparquet converts with loss, or not at all. */
const UNCONVERTED: (ConvertedType | undefined)[] = ["DECIMAL", "INTERVAL", "BSON"];

/** The schema without conversions that Kit does itself. */
export function withoutLossyConversions(schema: SchemaElement[]): SchemaElement[] {
  return schema.map(({ converted_type: type, ...element }) =>
    type === undefined || UNCONVERTED.includes(type)
      ? element
      : { ...element, converted_type: type },
  );
}

/** Decompressors for one row group, whose pages together may not exceed its maximum size. */
export async function createCompressors(): Promise<Compressors> {
  const { compressors, decompressZstd } = await import("hyparquet-compressors");
  let remaining = MAX_GROUP_BYTES;
  const bounded: Compressors = {
    ...compressors,
    // Node's own are faster.
    GZIP: (input, length) => gunzipSync(input, { maxOutputLength: Math.max(1, length) }),
    BROTLI: (input, length) =>
      brotliDecompressSync(input, { maxOutputLength: Math.max(1, length) }),
    // Without a buffer, the package would allocate whatever size the page claims.
    ZSTD: (input, length) => decompressZstd(input, new Uint8Array(length)),
  };
  return Object.fromEntries(
    Object.entries(bounded).map(([name, decompress]) => [
      name,
      (input: Uint8Array, length: number) => {
        remaining -= length;
        if (!(length >= 0 && remaining >= 0)) throw new Error("its pages are larger than it says");
        return decompress(input, length);
      },
    ]),
  );
}
