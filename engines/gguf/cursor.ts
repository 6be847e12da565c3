import { readFully } from "../modelFiles/regularFile.ts";

/** Bytes read at once. */
const WINDOW = 2 ** 16;

/** Reads a file sequentially and checks each length against the file's size. */
export interface Cursor {
  /** Bytes read. */
  position: () => number;
  /** Bytes not yet read. */
  remaining: () => number;
  uint32: () => number;
  /** A count or an offset. @param max limit that the file's size implies */
  uint64: (max: number) => number;
  bytes: (count: number) => Buffer;
  skip: (count: number) => void;
}

/** @param truncated creates the error for a file that ends too soon */
export function createCursor(file: number, size: number, truncated: () => Error): Cursor {
  let at = 0;
  let window = Buffer.alloc(0);
  let start = 0;

  function assertRoom(count: number): void {
    if (count > size - at) throw truncated();
  }

  function take(count: number): Buffer {
    assertRoom(count);
    if (at < start || at + count > start + window.length) {
      window = Buffer.alloc(Math.min(Math.max(count, WINDOW), size - at));
      start = at;
      if (!readFully(file, window, start)) throw truncated();
    }
    const from = at - start;
    at += count;
    return window.subarray(from, from + count);
  }

  return {
    position: () => at,
    remaining: () => size - at,
    uint32: () => take(4).readUInt32LE(),
    uint64(max) {
      const value = take(8).readBigUInt64LE();
      if (value > BigInt(max)) throw truncated();
      return Number(value);
    },
    bytes: take,
    skip(count) {
      assertRoom(count);
      at += count;
    },
  };
}
