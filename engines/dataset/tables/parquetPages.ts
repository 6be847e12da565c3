import type { AsyncBuffer, ColumnMetaData, PageHeader, RowGroup } from "hyparquet";

/**
 * Checks what the pages of a row group say of themselves. The library believes them, so a damaged one
 * would make it take memory for values that aren't there, or never end.
 */
export async function checkPages(file: AsyncBuffer, group: RowGroup): Promise<void> {
  const { parquetHeader } = await import("hyparquet/src/column.js");
  for (const { meta_data } of group.columns) {
    if (!meta_data) throw new Error("a column has no metadata");
    const start = Number(meta_data.dictionary_page_offset || meta_data.data_page_offset);
    const end = start + Number(meta_data.total_compressed_size);
    const reader = { view: new DataView(await file.slice(start, end)), offset: 0 };
    let values = 0;
    // The library reads no further, either.
    while (values < Number(meta_data.num_values) && reader.offset < reader.view.byteLength - 1) {
      const header = parquetHeader(reader);
      const left = reader.view.byteLength - reader.offset;
      if (!isSound(header, meta_data, left)) throw new Error("a page has wrong sizes");
      values += dataPage(header)?.num_values ?? 0;
      reader.offset += header.compressed_page_size;
    }
    if (values !== Number(meta_data.num_values)) throw new Error("a column has missing pages");
  }
}

/** @param left bytes of the column after the header */
function isSound(header: PageHeader, column: ColumnMetaData, left: number): boolean {
  const { compressed_page_size, uncompressed_page_size, dictionary_page_header } = header;
  const v2 = header.data_page_header_v2;
  const counts = [
    ...[compressed_page_size, uncompressed_page_size],
    ...[dataPage(header)?.num_values ?? 0, dictionary_page_header?.num_values ?? 0],
    ...(v2 ? [v2.num_nulls, v2.num_rows] : []),
    ...(v2 ? [v2.definition_levels_byte_length, v2.repetition_levels_byte_length] : []),
  ];
  const levels = v2 ? v2.definition_levels_byte_length + v2.repetition_levels_byte_length : 0;
  return (
    counts.every((count) => Number.isInteger(count) && count >= 0) &&
    compressed_page_size <= left &&
    uncompressed_page_size <= Number(column.total_uncompressed_size) &&
    levels <= Math.min(compressed_page_size, uncompressed_page_size) &&
    (!v2 || Math.max(v2.num_nulls, v2.num_rows) <= v2.num_values) &&
    // A value takes a bit or more.
    (dictionary_page_header?.num_values ?? 0) <= 8 * uncompressed_page_size
  );
}

function dataPage(header: PageHeader): { num_values: number } | undefined {
  return header.data_page_header ?? header.data_page_header_v2;
}
