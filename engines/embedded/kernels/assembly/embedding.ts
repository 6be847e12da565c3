import { multiply } from "./softmax";
import { begin, claim } from "./thread";
import { at, LANES, loadOne, loadWide } from "./vector";

const ROWS: i32 = 16;
const COLUMNS: i32 = 16;

/**
 * y[r, :] = table[ids[r], :].
 * @param ids [rows], int32
 * @param table [vocabulary, width], of bfloat16 if `isBf16`
 */
export function embed(rows: i32, width: i32, ids: usize, table: usize, isBf16: bool, y: usize): void {
  const counter = begin();
  const size: usize = isBf16 ? 2 : 4;
  for (let r = claim(counter) * ROWS; r < rows; r = claim(counter) * ROWS) {
    for (const end = min(r + ROWS, rows); r < end; r++) {
      const from = table + <usize>load<i32>(at(ids, r)) * width * size, to = at(y, r * width);
      let i = 0;
      for (; i + LANES <= width; i += LANES) v128.store(at(to, i), loadWide(from + <usize>i * size, isBf16));
      for (; i < width; i++) store<f32>(at(to, i), loadOne(from + <usize>i * size, isBf16));
    }
  }
}

/** dTable[ids[r], :] += dy[r, :] in row order; a thread claims columns of all rows. */
export function embedBack(rows: i32, width: i32, ids: usize, dy: usize, dTable: usize): void {
  const counter = begin();
  for (let j = claim(counter) * COLUMNS; j < width; j = claim(counter) * COLUMNS) {
    const end = min(j + COLUMNS, width);
    for (let r = 0; r < rows; r++) {
      const from = at(dy, r * width), to = at(dTable, load<i32>(at(ids, r)) * width);
      let i = j;
      for (; i + LANES <= end; i += LANES) {
        v128.store(at(to, i), f32x4.add(v128.load(at(to, i)), v128.load(at(from, i))));
      }
      for (; i < end; i++) store<f32>(at(to, i), load<f32>(at(to, i)) + load<f32>(at(from, i)));
    }
  }
}

/** Sets `count` elements to 0. */
export function clear(count: i32, x: usize): void {
  const counter = begin();
  const share = 16384;
  for (let i = claim(counter) * share; i < count; i = claim(counter) * share) {
    memory.fill(at(x, i), 0, <usize>min(share, count - i) << 2);
  }
}

/** x [count] = factor · x. */
export function scale(count: i32, x: usize, factor: f32): void {
  const counter = begin();
  const share = 4096;
  for (let i = claim(counter) * share; i < count; i = claim(counter) * share) {
    multiply(at(x, i), min(share, count - i), factor);
  }
}

/** Copies rows of `width` elements, `fromRow` elements apart, to rows `toRow` elements apart. */
export function copyRows(rows: i32, width: i32, from: usize, fromRow: i32, to: usize, toRow: i32): void {
  const counter = begin();
  for (let r = claim(counter) * ROWS; r < rows; r = claim(counter) * ROWS) {
    for (const end = min(r + ROWS, rows); r < end; r++) {
      memory.copy(at(to, r * toRow), at(from, r * fromRow), <usize>width << 2);
    }
  }
}
