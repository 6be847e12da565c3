import { TILE_ROWS } from "./tile";
import { at, LANES, loadOne, loadWide } from "./vector";

/**
 * Packs a panel of B [depth, columns]: the elements of each k become contiguous; columns beyond `width` are 0.
 * Element (k, j) is at b + (k · row + j · column) · size.
 * @param columns 8 or 16
 */
export function packColumns(
  to: usize, depth: i32, columns: i32, width: i32, b: usize, row: i32, column: i32, isBf16: bool,
): void {
  const size: usize = isBf16 ? 2 : 4;
  const rowBytes = <usize>row * size, columnBytes = <usize>column * size;
  if (width == columns && column == 1) return copyRows(to, depth, columns, b, rowBytes, isBf16);
  let k = 0;
  if (width == columns && row == 1) {
    k = depth & (isBf16 ? ~7 : ~3);
    for (let j = 0; j < columns; j += LANES) {
      transpose(at(to, j), k, columns, b + <usize>j * columnBytes, columnBytes, isBf16);
    }
  }
  for (; k < depth; k++) {
    const from = b + <usize>k * rowBytes, line = at(to, k * columns);
    for (let j = 0; j < columns; j++) {
      store<f32>(at(line, j), j < width ? loadOne(from + <usize>j * columnBytes, isBf16) : 0);
    }
  }
}

/** Copies rows of 8 or 16 elements, `rowBytes` apart, one after another. */
function copyRows(to: usize, depth: i32, columns: i32, b: usize, rowBytes: usize, isBf16: bool): void {
  const bytes = at(0, columns);
  for (let k = 0; k < depth; k++) {
    copyEight(to, b, isBf16);
    if (columns > 8) copyEight(to + 32, b + (isBf16 ? 16 : 32), isBf16);
    to += bytes;
    b += rowBytes;
  }
}

// @ts-ignore: decorator
@inline
function copyEight(to: usize, from: usize, isBf16: bool): void {
  v128.store(to, loadWide(from, isBf16));
  v128.store(to, loadWide(from + (isBf16 ? 8 : 16), isBf16), 16);
}

/**
 * Transposes four columns, each contiguous in k, to the first elements of each packed row; a word holds one float32
 * or two bfloat16.
 */
function transpose(
  to: usize, depth: i32, columns: i32, b: usize, columnBytes: usize, isBf16: bool,
): void {
  const numbers = isBf16 ? 8 : 4, line = at(0, columns);
  const bytes: usize = isBf16 ? 2 * line : line;
  for (let k = 0; k < depth; k += numbers) {
    const r0 = v128.load(b), r1 = v128.load(b + columnBytes);
    const r2 = v128.load(b + 2 * columnBytes), r3 = v128.load(b + 3 * columnBytes);
    const low01 = v128.shuffle<f32>(r0, r1, 0, 4, 1, 5), low23 = v128.shuffle<f32>(r2, r3, 0, 4, 1, 5);
    const high01 = v128.shuffle<f32>(r0, r1, 2, 6, 3, 7), high23 = v128.shuffle<f32>(r2, r3, 2, 6, 3, 7);
    storeWords(to, v128.shuffle<i64>(low01, low23, 0, 2), line, isBf16);
    storeWords(to + bytes, v128.shuffle<i64>(low01, low23, 1, 3), line, isBf16);
    storeWords(to + 2 * bytes, v128.shuffle<i64>(high01, high23, 0, 2), line, isBf16);
    storeWords(to + 3 * bytes, v128.shuffle<i64>(high01, high23, 1, 3), line, isBf16);
    to += 4 * bytes;
    b += 16;
  }
}

/** Stores four words in a packed row; of bfloat16, the lower halves there and the upper halves in the next row. */
// @ts-ignore: decorator
@inline
function storeWords(to: usize, words: v128, line: usize, isBf16: bool): void {
  v128.store(to, isBf16 ? i32x4.shl(words, 16) : words);
  if (isBf16) v128.store(to + line, i32x4.shl(i32x4.shr_u(words, 16), 16));
}

/**
 * Packs a panel of Aᵀ [depth, TILE_ROWS], whose elements of one k are adjacent; rows beyond `height` are 0.
 */
export function packRows(to: usize, depth: i32, height: i32, a: usize, rowBytes: usize): void {
  if (height == TILE_ROWS) {
    for (let k = 0; k < depth; k++) {
      v128.store(to, v128.load(a));
      if (TILE_ROWS > 4) store<u64>(to, load<u64>(a, 16), 16);
      to += 4 * TILE_ROWS;
      a += rowBytes;
    }
    return;
  }
  for (let k = 0; k < depth; k++) {
    for (let i = 0; i < TILE_ROWS; i++) {
      store<f32>(at(to, i), i < height ? load<f32>(at(a, i)) : 0);
    }
    to += 4 * TILE_ROWS;
    a += rowBytes;
  }
}
