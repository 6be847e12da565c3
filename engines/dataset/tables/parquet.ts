import { brotliDecompressSync, gunzipSync } from "node:zlib";
import type { Compressors, FileMetaData, ParquetParsers, RowGroup } from "hyparquet";
import { isKitError, messageOf } from "../../../protocol/error.ts";
import { formatCount } from "../../../protocol/format.ts";
import { type ParquetFile, TAIL_BYTES, openParquet } from "./parquetFile.ts";
import { checkPages } from "./parquetPages.ts";
import { plainValue } from "./parquetValue.ts";
import { type TableRow, invalid } from "./tableRow.ts";

const GIBIBYTE = 2 ** 30;
/** A row group is in memory as a whole, several times: compressed, uncompressed and as values. */
const MOST_GROUP_BYTES = GIBIBYTE;
/** Of all columns of a row group: each takes 8 bytes or more, even if the file has it compressed to none. */
const MOST_GROUP_VALUES = 2 ** 25;
/** About 1,000 row groups of 50 columns. */
const MOST_METADATA_BYTES = 2 ** 24;

const SMALLER_GROUPS =
  "Write smaller row groups, for example with row_group_size=10_000 in pandas or pyarrow.";

/** The values of a column in a row group, page by page. */
interface Column {
  name: string;
  pages: ArrayLike<unknown>[];
}

/**
 * Reads the rows of a Parquet file, with one row group at a time in memory.
 * @throws KitError `DATASET_UNREADABLE` without a file, `DATASET_INVALID` with file, row and column
 */
export async function* readParquet(path: string): AsyncGenerator<TableRow> {
  const file = openParquet(path);
  try {
    const metadata = await readMetadata(path, file);
    const names = columnNames(path, metadata);
    let row = 0;
    for (const [index, group] of metadata.row_groups.entries()) {
      checkGroup(path, group, index);
      await sound(path, () => checkPages(file, group));
      const columns = await readColumns(path, file, names, { ...metadata, row_groups: [group] });
      for (let left = Number(group.num_rows); left > 0; left--) {
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

async function readMetadata(path: string, file: ParquetFile): Promise<FileMetaData> {
  const { parquetMetadataAsync } = await import("hyparquet");
  const magic = file.tail.toString("latin1", 4);
  if (magic === "PARE") throw encrypted(path);
  if (file.tail.length < TAIL_BYTES || magic !== "PAR1") {
    throw damaged(path, new Error("its end is missing"));
  }
  if (file.tail.readUInt32LE() > MOST_METADATA_BYTES) {
    throw invalid(path, "the metadata have more than 16 MiB. Write larger row groups.");
  }
  const metadata = await sound(path, () => parquetMetadataAsync(file, { geoparquet: false }));
  const chunks = metadata.row_groups.flatMap(({ columns }) => columns);
  if (chunks.some((chunk) => chunk.crypto_metadata !== undefined)) throw encrypted(path);
  return metadata;
}

function columnNames(path: string, metadata: FileMetaData): string[] {
  const names: string[] = [];
  // In the schema, the children of a column come right after it.
  for (let at = 1; at < metadata.schema.length; at = afterColumn(metadata, at)) {
    const { name } = metadata.schema[at] as { name: string };
    if (names.includes(name)) {
      throw invalid(
        path,
        `two columns named ${JSON.stringify(name)}. Give each column a name of its own.`,
      );
    }
    names.push(name);
  }
  return names;
}

function afterColumn({ schema }: FileMetaData, at: number): number {
  let after = at + 1;
  for (let left = schema[at]?.num_children ?? 0; left > 0 && after < schema.length; left--) {
    left += schema[after]?.num_children ?? 0;
    after++;
  }
  return after;
}

/** Refuses what would take too much memory, by what the file says of itself. */
function checkGroup(path: string, group: RowGroup, index: number): void {
  const { num_rows, total_byte_size, columns } = group;
  const chunks = columns.flatMap(({ meta_data }) => meta_data ?? []);
  const sum = (key: "num_values" | "total_uncompressed_size" | "total_compressed_size") =>
    chunks.reduce((total, chunk) => total + Number(chunk[key]), 0);
  const least = chunks.map((chunk) =>
    Math.min(
      Number(chunk.num_values) - Number(num_rows),
      Number(chunk.total_uncompressed_size),
      Number(chunk.total_compressed_size),
    ),
  );
  if (Number(num_rows) === 0) return;
  if (chunks.length === 0 || Math.min(Number(num_rows), ...least) < 0) {
    throw damaged(path, new Error(`row group ${index + 1} has columns without values`));
  }
  const bytes = Math.max(
    Number(total_byte_size),
    sum("total_uncompressed_size"),
    sum("total_compressed_size"),
  );
  if (bytes > MOST_GROUP_BYTES) {
    throw invalid(
      path,
      `row group ${index + 1} has ${formatCount(bytes / GIBIBYTE)} GiB uncompressed, and Kit reads at most 1 GiB at once. ${SMALLER_GROUPS}`,
    );
  }
  const values = sum("num_values");
  if (values > MOST_GROUP_VALUES) {
    throw invalid(
      path,
      `row group ${index + 1} has ${formatCount(values)} values, and Kit reads at most ${formatCount(MOST_GROUP_VALUES)} at once. ${SMALLER_GROUPS}`,
    );
  }
}

/** @param metadata with a single row group */
async function readColumns(
  path: string,
  file: ParquetFile,
  names: string[],
  metadata: FileMetaData,
): Promise<{ name: string; values: Iterator<unknown> }[]> {
  const rows = Number(metadata.row_groups[0]?.num_rows);
  if (rows === 0) return [];
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
    return JSON.parse(source) as unknown;
  } catch {
    // As text, which is refused where a list is needed.
    return source;
  }
}

const PARSERS: Partial<ParquetParsers> = {
  stringFromBytes: text,
  jsonFromBytes: json,
};

/** Of one row group: its pages may together be as large as a row group. */
async function createCompressors(): Promise<Compressors> {
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

async function sound<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    if (isKitError(cause)) throw cause;
    throw damaged(path, cause);
  }
}

function damaged(path: string, cause: unknown) {
  return invalid(path, `damaged, or not Parquet (${messageOf(cause)}). Save it again.`, cause);
}

function encrypted(path: string) {
  return invalid(path, "the file is encrypted. Save it again without encryption.");
}
