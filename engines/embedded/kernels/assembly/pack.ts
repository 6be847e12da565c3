import { TILE_COLUMNS, TILE_ROWS } from "./tile";
import { at, loadOne, loadWide } from "./vector";

/**
 * Packs a panel of B [depth, 8] so that the 8 numbers of each k follow one another; columns beyond
 * `width` are 0. Element (k, j) lies at b + (k · row + j · column) · size.
 */
export function packColumns(
  to: usize, depth: i32, width: i32, b: usize, row: i32, column: i32, half: bool,
): void {
  const size: usize = half ? 2 : 4;
  const rowBytes = <usize>row * size, columnBytes = <usize>column * size;
  if (width == TILE_COLUMNS && column == 1) return copyRows(to, depth, b, rowBytes, half);
  let k = 0;
  if (width == TILE_COLUMNS && row == 1) {
    k = depth & ~3;
    transpose(to, k, b, columnBytes, half);
    transpose(to + 16, k, b + 4 * columnBytes, columnBytes, half);
  }
  for (; k < depth; k++) {
    const from = b + <usize>k * rowBytes, line = to + (<usize>k << 5);
    for (let j = 0; j < TILE_COLUMNS; j++) {
      store<f32>(at(line, j), j < width ? loadOne(from + <usize>j * columnBytes, half) : 0);
    }
  }
}

/** Rows of 8 that lie `rowBytes` apart, one after another. */
function copyRows(to: usize, depth: i32, b: usize, rowBytes: usize, half: bool): void {
  const second: usize = half ? 8 : 16;
  for (let k = 0; k < depth; k++) {
    v128.store(to, loadWide(b, half));
    v128.store(to, loadWide(b + second, half), 16);
    to += 32;
    b += rowBytes;
  }
}

/** Four columns, each contiguous in k, become the first half of each line of 8. */
function transpose(to: usize, depth: i32, b: usize, columnBytes: usize, half: bool): void {
  const step: usize = half ? 8 : 16;
  for (let k = 0; k < depth; k += 4) {
    const r0 = loadWide(b, half), r1 = loadWide(b + columnBytes, half);
    const r2 = loadWide(b + 2 * columnBytes, half), r3 = loadWide(b + 3 * columnBytes, half);
    const low01 = v128.shuffle<f32>(r0, r1, 0, 4, 1, 5), low23 = v128.shuffle<f32>(r2, r3, 0, 4, 1, 5);
    const high01 = v128.shuffle<f32>(r0, r1, 2, 6, 3, 7), high23 = v128.shuffle<f32>(r2, r3, 2, 6, 3, 7);
    v128.store(to, v128.shuffle<i64>(low01, low23, 0, 2));
    v128.store(to, v128.shuffle<i64>(low01, low23, 1, 3), 32);
    v128.store(to, v128.shuffle<i64>(high01, high23, 0, 2), 64);
    v128.store(to, v128.shuffle<i64>(high01, high23, 1, 3), 96);
    to += 128;
    b += step;
  }
}

/**
 * Packs a panel of Aᵀ [depth, TILE_ROWS]: the numbers of each k, which lie side by side, follow those of
 * the k before; rows beyond `height` are 0.
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
