import { crc32 } from "node:zlib";

export interface PackedFile {
  /** With forward slashes. */
  path: string;
  bytes: Buffer;
}

/** Signatures of the records. */
const [LOCAL, CENTRAL, END] = [0x04034b50, 0x02014b50, 0x06054b50];
/** Size in bytes of each field of a record, and of the fields that both records of a file share. */
const ENTRY = "2222244422";
const LOCAL_SIZES = `4${ENTRY}`;
const CENTRAL_SIZES = `42${ENTRY}22244`;
const END_SIZES = "42222442";
const VERSION = 20;
const UTF_8 = 0x0800;
/** 1980-01-01, the format's first day, so that equal files give equal archives. */
const DAY = 0x21;

/** An uncompressed archive of at most 4 GiB. Format: PKWARE's APPNOTE 6.3. */
export function zip(files: readonly PackedFile[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { path, bytes } of files) {
    const name = Buffer.from(path);
    const sizes = [bytes.length, bytes.length, name.length, 0];
    const entry = [VERSION, UTF_8, 0, 0, DAY, crc32(bytes), ...sizes];
    const local = record(LOCAL_SIZES, LOCAL, ...entry);
    parts.push(local, name, bytes);
    directory.push(record(CENTRAL_SIZES, CENTRAL, VERSION, ...entry, 0, 0, 0, 0, offset), name);
    offset += local.length + name.length + bytes.length;
  }
  const central = Buffer.concat(directory);
  const [count, size] = [files.length, central.length];
  const end = record(END_SIZES, END, 0, 0, count, count, size, offset, 0);
  return Buffer.concat([...parts, central, end]);
}

/** Size in bytes of an archive of files with these paths and sizes. */
export function zipSize(files: readonly { path: string; size: number }[]): number {
  const headers = record(LOCAL_SIZES).length + record(CENTRAL_SIZES).length;
  return files.reduce(
    (sum, { path, size }) => sum + headers + 2 * Buffer.byteLength(path) + size,
    record(END_SIZES).length,
  );
}

/** A record of little-endian numbers. @param sizes a digit for each number: its size in bytes */
function record(sizes: string, ...values: number[]): Buffer {
  const widths = [...sizes].map(Number);
  const bytes = Buffer.alloc(widths.reduce((sum, width) => sum + width, 0));
  let end = 0;
  for (const [i, width] of widths.entries()) end = bytes.writeUIntLE(values[i] ?? 0, end, width);
  return bytes;
}
