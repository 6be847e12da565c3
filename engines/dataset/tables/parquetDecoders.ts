import { brotliDecompressSync, gunzipSync } from "node:zlib";
import type { Compressors, ConvertedType, ParquetParsers, SchemaElement } from "hyparquet";
import { parseJson } from "../../../protocol/json.ts";
import { MOST_GROUP_BYTES } from "./parquetMetadata.ts";

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
