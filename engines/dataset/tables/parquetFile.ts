import { closeSync, fstatSync, readSync } from "node:fs";
import type { AsyncBuffer } from "hyparquet";
import { type KitError, isKitError, messageOf } from "../../../protocol/error.ts";
import { openDataFile, withReadError } from "../dataFile.ts";
import { HEAD_BYTES } from "../fileKind.ts";
import { invalid } from "./tableRow.ts";

/** A file that hyparquet reads on demand. */
export interface ParquetFile extends AsyncBuffer {
  /** The first and last bytes, which identify the format. */
  head: Buffer;
  tail: Buffer;
  close: () => void;
}

/** The metadata's length and the magic bytes. */
export const TAIL_BYTES = 8;

/** @throws KitError `DATASET_UNREADABLE` */
export function openParquet(path: string): ParquetFile {
  const file = openDataFile(path);
  const { size } = fstatSync(file);

  function read(start: number, end: number): Uint8Array<ArrayBuffer> {
    // Check before allocating.
    if (!(start >= 0 && start <= end && end <= size))
      throw new Error("a byte range lies outside the file");
    const bytes = new Uint8Array(end - start);
    for (let done = 0; done < bytes.length;) {
      const count = withReadError(path, () =>
        readSync(file, bytes, done, bytes.length - done, start + done),
      );
      if (count === 0) throw new Error("it was truncated while being read");
      done += count;
    }
    return bytes;
  }

  try {
    return {
      byteLength: size,
      // Errors must reject the promise.
      slice: (start, end = size) => Promise.resolve().then(() => read(start, end).buffer),
      head: Buffer.from(read(0, Math.min(HEAD_BYTES, size))),
      tail: Buffer.from(read(Math.max(0, size - TAIL_BYTES), size)),
      close: () => closeSync(file),
    };
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

/** @throws KitError `DATASET_INVALID` if hyparquet throws */
export async function withDamagedError<T>(path: string, read: () => T | Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    if (isKitError(cause)) throw cause;
    throw damaged(path, cause);
  }
}

export function damaged(path: string, cause: unknown): KitError {
  // hyparquet's own crashes mean nothing to users.
  const isLibraryError = cause instanceof TypeError || cause instanceof RangeError;
  const why = isLibraryError ? "its contents are inconsistent" : messageOf(cause);
  return invalid(path, `the file is damaged or not Parquet (${why}). Export it again.`, cause);
}
