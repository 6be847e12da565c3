import type {
  AsyncBuffer,
  ColumnMetaData,
  FileMetaData,
  PageHeader,
  RowGroup,
  SchemaTree,
} from "hyparquet";
import type { KitError } from "../../../protocol/error.ts";
import { formatCount } from "../../../protocol/format.ts";
import { refuseOtherKinds } from "../fileKind.ts";
import { type ParquetFile, TAIL_BYTES, damaged, withDamagedError } from "./parquetFile.ts";
import { duplicateIn, invalid } from "./tableRow.ts";

const GIBIBYTE = 2 ** 30;
/** A row group is in memory three times: compressed, uncompressed and as values. */
export const MAX_GROUP_BYTES = GIBIBYTE;
/** Maximum values in all columns of a row group: each takes at least 8 bytes in memory. */
const MAX_GROUP_VALUES = 2 ** 25;
/** Enough for about 1,000 row groups of 50 columns. */
const MAX_METADATA_BYTES = 2 ** 24;

const SMALLER_GROUPS =
  "Write smaller row groups, for example with row_group_size=10_000 in pandas or pyarrow.";

/** @throws KitError `DATASET_INVALID` */
export async function readMetadata(path: string, file: ParquetFile): Promise<FileMetaData> {
  const { parquetMetadataAsync } = await import("hyparquet");
  refuseOtherKinds(path, file.head, "Parquet");
  if (file.head.length > 0 && !/^PAR[1E]/.test(file.head.toString("latin1", 0, 4))) {
    throw invalid(path, "not Parquet. Name it by what it is, such as .jsonl or .csv.");
  }
  const magic = file.tail.toString("latin1", 4);
  if (magic === "PARE") throw encrypted(path);
  if (file.tail.length < TAIL_BYTES || magic !== "PAR1") {
    throw damaged(path, new Error("its end is missing"));
  }
  const length = file.tail.readUInt32LE();
  if (length > file.byteLength - TAIL_BYTES) {
    throw damaged(path, new Error("its metadata is truncated"));
  }
  if (length > MAX_METADATA_BYTES) {
    throw invalid(path, "the metadata exceeds 16 MiB. Write larger row groups.");
  }
  const metadata = await withDamagedError(path, () =>
    parquetMetadataAsync(file, { geoparquet: false }),
  );
  const chunks = metadata.row_groups.flatMap(({ columns }) => columns);
  if (chunks.some((chunk) => chunk.crypto_metadata !== undefined)) throw encrypted(path);
  return metadata;
}

/**
 * The columns' schemas. Refuses row groups with other columns: hyparquet doesn't await reading those, so an error
 * would end the process.
 */
export async function columnsOf(path: string, metadata: FileMetaData): Promise<SchemaTree[]> {
  const { parquetSchema } = await import("hyparquet");
  const [leaves, columns] = await withDamagedError(path, () => {
    const schema = parquetSchema(metadata);
    const asPath = (parts: string[]) => JSON.stringify(parts);
    const leafPaths = leavesOf(schema).map((leaf) => asPath(leaf.path));
    for (const { columns } of metadata.row_groups) {
      const paths = columns.map(({ meta_data }) => asPath(meta_data?.path_in_schema ?? []));
      if (paths.join() !== leafPaths.join()) throw new Error("a row group has other columns");
    }
    return [leafPaths, schema.children] as const;
  });
  const names = columns.map(({ element }) => element.name);
  const duplicate = duplicateIn(names) ?? duplicateIn(leaves);
  if (duplicate === undefined) return columns;
  const problem = `two columns named ${JSON.stringify(duplicate)}`;
  throw invalid(path, `${problem}. Give each column a name of its own.`);
}

function leavesOf(tree: SchemaTree): SchemaTree[] {
  return tree.children.length === 0 ? [tree] : tree.children.flatMap(leavesOf);
}

/** Refuses a row group that declares sizes beyond the memory limits. */
export function checkGroup(path: string, group: RowGroup, index: number): void {
  const { num_rows, columns } = group;
  const chunks = columns.flatMap(({ meta_data }) => meta_data ?? []);
  const sum = (key: "num_values" | "total_uncompressed_size" | "total_compressed_size") =>
    chunks.reduce((total, chunk) => total + Number(chunk[key]), 0);
  const minimums = chunks.map((chunk) =>
    Math.min(
      Number(chunk.num_values) - Number(num_rows),
      Number(chunk.total_uncompressed_size),
      Number(chunk.total_compressed_size),
    ),
  );
  // Damage may also produce NaN.
  if (chunks.length === 0 || !(Math.min(Number(num_rows), ...minimums) >= 0)) {
    throw damaged(path, new Error(`row group ${index + 1} has columns without values`));
  }
  const bytes = Math.max(sum("total_uncompressed_size"), sum("total_compressed_size"));
  if (bytes > MAX_GROUP_BYTES) {
    throw invalid(
      path,
      `row group ${index + 1} has ${formatCount(bytes / GIBIBYTE)} GiB uncompressed, and Kit reads at most 1 GiB at once. ${SMALLER_GROUPS}`,
    );
  }
  const values = sum("num_values");
  if (values > MAX_GROUP_VALUES) {
    throw invalid(
      path,
      `row group ${index + 1} has ${formatCount(values)} values, and Kit reads at most ${formatCount(MAX_GROUP_VALUES)} at once. ${SMALLER_GROUPS}`,
    );
  }
}

function encrypted(path: string): KitError {
  return invalid(path, "the file is encrypted. Save it again without encryption.");
}

/**
 * Checks the page headers of a row group. hyparquet trusts them, so a damaged one would make it
 * allocate memory for values that don't exist, or loop forever.
 */
export async function checkPages(file: AsyncBuffer, group: RowGroup): Promise<void> {
  const { parquetHeader } = await import("hyparquet/src/column.js");
  for (const { meta_data } of group.columns) {
    if (!meta_data) throw new Error("a column has no metadata");
    const start = Number(meta_data.dictionary_page_offset || meta_data.data_page_offset);
    const end = start + Number(meta_data.total_compressed_size);
    const reader = { view: new DataView(await file.slice(start, end)), offset: 0 };
    let values = 0;
    // hyparquet stops here, too.
    while (values < Number(meta_data.num_values) && reader.offset < reader.view.byteLength - 1) {
      const header = parquetHeader(reader);
      const remaining = reader.view.byteLength - reader.offset;
      if (!hasValidSizes(header, meta_data, remaining)) throw new Error("a page has wrong sizes");
      values += dataPage(header)?.num_values ?? 0;
      reader.offset += header.compressed_page_size;
    }
    if (values !== Number(meta_data.num_values)) throw new Error("a column has missing pages");
  }
}

/** @param remaining bytes of the column after the header */
function hasValidSizes(header: PageHeader, column: ColumnMetaData, remaining: number): boolean {
  const { compressed_page_size, uncompressed_page_size, dictionary_page_header } = header;
  const v2 = header.data_page_header_v2;
  const counts = [
    compressed_page_size,
    uncompressed_page_size,
    dataPage(header)?.num_values ?? 0,
    dictionary_page_header?.num_values ?? 0,
    ...(v2 ? [v2.num_nulls, v2.num_rows] : []),
    ...(v2 ? [v2.definition_levels_byte_length, v2.repetition_levels_byte_length] : []),
  ];
  const levels = v2 ? v2.definition_levels_byte_length + v2.repetition_levels_byte_length : 0;
  return (
    counts.every((count) => Number.isInteger(count) && count >= 0) &&
    compressed_page_size <= remaining &&
    uncompressed_page_size <= Number(column.total_uncompressed_size) &&
    levels <= Math.min(compressed_page_size, uncompressed_page_size) &&
    (!v2 || Math.max(v2.num_nulls, v2.num_rows) <= v2.num_values) &&
    // A value takes at least one bit.
    (dictionary_page_header?.num_values ?? 0) <= 8 * uncompressed_page_size
  );
}

function dataPage(header: PageHeader): { num_values: number } | undefined {
  return header.data_page_header ?? header.data_page_header_v2;
}
