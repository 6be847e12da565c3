/** Rows as numbers, or as the bytes of blocks. */
type Row = Float32Array | Uint16Array | Uint8Array;

/**
 * Permutes each head's rows for llama.cpp's rope type "norm", which pairs adjacent rows, where Hugging Face's "neox"
 * pairs rows half a head apart.
 * @param rows of whole heads
 * @param headDim rows of a head
 * @param columns elements of a row
 */
export function permuted<T extends Row>(rows: T, headDim: number, columns: number): T {
  return reordered(rows, headDim, columns, (row) => (row % 2) * (headDim / 2) + (row >> 1));
}

/** The inverse of `permuted`. */
export function unpermuted<T extends Row>(rows: T, headDim: number, columns: number): T {
  const half = headDim / 2;
  return reordered(rows, headDim, columns, (row) => (row < half ? 2 * row : 2 * (row - half) + 1));
}

/** @param sourceOf a row's source row; both are counted within their head */
function reordered<T extends Row>(
  rows: T,
  headDim: number,
  columns: number,
  sourceOf: (row: number) => number,
): T {
  const to = rows.slice() as T;
  for (let at = 0, row = 0; at < rows.length; at += columns, row = (row + 1) % headDim) {
    const source = at + (sourceOf(row) - row) * columns;
    to.set(rows.subarray(source, source + columns), at);
  }
  return to;
}
