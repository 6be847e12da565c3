/**
 * Puts each head's rows in the order that llama.cpp's "llama" turns: row i beside row i + half, which Hugging Face
 * keeps half a head away.
 * @param bytes rows of whole heads
 * @param headDim rows of a head
 */
export function interleaved(bytes: Uint8Array, headDim: number, rowBytes: number) {
  return reordered(bytes, headDim, rowBytes, (row) => (row % 2) * (headDim / 2) + (row >> 1));
}

/** The inverse. */
export function separated(bytes: Uint8Array, headDim: number, rowBytes: number) {
  const half = headDim / 2;
  return reordered(bytes, headDim, rowBytes, (row) =>
    row < half ? 2 * row : 2 * (row - half) + 1,
  );
}

/** @param from the row of a head that becomes this one */
function reordered(
  bytes: Uint8Array,
  headDim: number,
  rowBytes: number,
  from: (row: number) => number,
): Uint8Array<ArrayBuffer> {
  const to = new Uint8Array(bytes.length);
  for (let at = 0, row = 0; at < bytes.length; at += rowBytes, row = (row + 1) % headDim) {
    const source = at + (from(row) - row) * rowBytes;
    to.set(bytes.subarray(source, source + rowBytes), at);
  }
  return to;
}
