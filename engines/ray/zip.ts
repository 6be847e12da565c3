import { crc32 } from "node:zlib";
import type { PackedFile } from "./remote.ts";

const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
/** Sizes of the records, without names. */
const LOCAL_BYTES = 30;
const CENTRAL_BYTES = 46;
const END_BYTES = 22;
const VERSION = 20;
const UTF_8 = 0x0800;
/** 1980-01-01, the format's first day, so that equal files are equal archives. */
const DAY = 0x21;

/** An archive of at most 4 GiB, uncompressed. Format: PKWARE's APPNOTE 6.3. */
export function zip(files: readonly PackedFile[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { path, bytes } of files) {
    const name = Buffer.from(path);
    const entry = entryOf(name, bytes);
    const local = Buffer.concat([numbers([LOCAL, 4]), entry, name]);
    parts.push(local, bytes);
    const rest = numbers([0, 2], [0, 2], [0, 2], [0, 4], [offset, 4]);
    directory.push(numbers([CENTRAL, 4], [VERSION, 2]), entry, rest, name);
    offset += local.length + bytes.length;
  }
  const central = Buffer.concat(directory);
  const counts = numbers([0, 2], [0, 2], [files.length, 2], [files.length, 2]);
  const end = [numbers([END, 4]), counts, numbers([central.length, 4], [offset, 4], [0, 2])];
  return Buffer.concat([...parts, central, ...end]);
}

/** The size in bytes of the archive of files with these paths and sizes. */
export function zipSize(files: readonly { path: string; size: number }[]): number {
  return files.reduce(
    (sum, { path, size }) => sum + LOCAL_BYTES + CENTRAL_BYTES + 2 * Buffer.byteLength(path) + size,
    END_BYTES,
  );
}

/** What both of a file's records have. */
function entryOf(name: Buffer, bytes: Buffer): Buffer {
  return numbers(
    ...([
      [VERSION, 2],
      [UTF_8, 2],
      [0, 2],
      [0, 2],
      [DAY, 2],
    ] as const),
    ...([
      [crc32(bytes), 4],
      [bytes.length, 4],
      [bytes.length, 4],
    ] as const),
    ...([
      [name.length, 2],
      [0, 2],
    ] as const),
  );
}

/** Little-endian, each with its size in bytes. */
function numbers(...values: (readonly [value: number, size: number])[]): Buffer {
  const all = Buffer.alloc(values.reduce((sum, [, size]) => sum + size, 0));
  let at = 0;
  for (const [value, size] of values) at = all.writeUIntLE(value, at, size);
  return all;
}
