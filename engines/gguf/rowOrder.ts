/** Numbers, or the bytes of blocks, by the row. */
type Row = Float32Array | Uint16Array | Uint8Array;

/**
 * Puts each head's rows in the order that llama.cpp's "llama" turns: row i beside row i + half, which Hugging Face
 * keeps half a head away.
 * @param rows of whole heads
 * @param headDim rows of a head
 * @param columns numbers of a row
 */
export function interleaved<T extends Row>(rows: T, headDim: number, columns: number): T {
  return reordered(rows, headDim, columns, (row) => (row % 2) * (headDim / 2) + (row >> 1));
}

/** The inverse. */
export function separated<T extends Row>(rows: T, headDim: number, columns: number): T {
  const half = headDim / 2;
  return reordered(rows, headDim, columns, (row) => (row < half ? 2 * row : 2 * (row - half) + 1));
}

/** @param from the row of a head that becomes this one */
function reordered<T extends Row>(
  rows: T,
  headDim: number,
  columns: number,
  from: (row: number) => number,
): T {
  const to = rows.slice() as T;
  for (let at = 0, row = 0; at < rows.length; at += columns, row = (row + 1) % headDim) {
    const source = at + (from(row) - row) * columns;
    to.set(rows.subarray(source, source + columns), at);
  }
  return to;
}
