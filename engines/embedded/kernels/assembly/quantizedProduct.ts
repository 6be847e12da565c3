import { begin, claim, own } from "./thread";
import { at } from "./vector";
import { BLOCK, GROUP, groupBytes } from "./quantizedBlock";
import { dots, FOUR, inputRow, scalesOf, scalesRow } from "./quantizedInput";
import { fourQ4, fourQ8, oneQ4, oneQ8 } from "./quantizedSums";
import { fourDotsQ4, fourDotsQ8, oneDotsQ4, oneDotsQ8 } from "./quantizedDots";

/** Groups of W's rows that a thread claims at a time: 32 rows, which stay in the second-level cache. */
const GROUPS: i32 = 4;

/**
 * y = added + x·Wᵀ by all threads, for x that `quantizeInput` wrote, which has to be done before. Products of a
 * block are summed as integers, blocks as float32 in their order: the same bits for any number of rows and threads.
 * @param w [out, width], quantized, see quantizedBlock.ts
 * @param x [rows, width]
 * @param y [rows, out], its rows `yRow` numbers apart
 * @param added lies as y does and may be y; 0 is none
 */
export function quantizedProduct(
  isQ4: bool, rows: i32, out: i32, width: i32, w: usize, x: usize, y: usize, yRow: i32, added: usize,
): void {
  const counter = begin(), bytes = groupBytes(isQ4, width), groups = (out + GROUP - 1) / GROUP;
  const settings = scalesOf(x, rows, width), blocks = width / BLOCK, fours = rows & ~(FOUR - 1);
  for (let g = claim(counter) * GROUPS; g < groups; g = claim(counter) * GROUPS) {
    const end = min(g + GROUPS, groups);
    for (let i = g; i < end && fours > 0; i++) {
      const from = w + <usize>i * bytes;
      for (let r = 0; r < fours; r += FOUR) {
        fourRows(isQ4, blocks, from, inputRow(x, width, r), scalesRow(settings, width, r));
        for (let s = 0; s < FOUR; s++) put(own + 32 * <usize>s, i * GROUP, out, (r + s) * yRow, y, added);
      }
    }
    for (let r = fours; r < rows; r++) {
      const from = w + <usize>g * bytes;
      oneRow(isQ4, blocks, from, bytes, end - g, inputRow(x, width, r), scalesRow(settings, width, r));
      for (let i = g; i < end; i++) put(own + 32 * <usize>(i - g), i * GROUP, out, r * yRow, y, added);
    }
  }
}

/** Eight numbers of a row of y, or as many as it has left. */
// @ts-ignore: decorator
@inline
function put(from: usize, column: i32, out: i32, row: i32, y: usize, added: usize): void {
  const to = row + column, count = min(GROUP, out - column);
  if (count == GROUP) {
    const a = v128.load(from), b = v128.load(from, 16), before = at(added, to);
    v128.store(at(y, to), added ? f32x4.add(a, v128.load(before)) : a);
    v128.store(at(y, to), added ? f32x4.add(b, v128.load(before, 16)) : b, 16);
    return;
  }
  for (let i = 0; i < count; i++) {
    const value = load<f32>(at(from, i));
    store<f32>(at(y, to + i), added ? value + load<f32>(at(added, to + i)) : value);
  }
}

/** Up to four groups by one row of x; the sums go to `own`, [group][8]. */
// @ts-ignore: decorator
@inline
function oneRow(isQ4: bool, blocks: i32, w: usize, apart: usize, count: i32, x: usize, settings: usize): void {
  if (count == GROUPS && !dots) {
    if (isQ4) oneQ4(blocks, w, apart, x, settings, own);
    else oneQ8(blocks, w, apart, x, settings, own);
    return;
  }
  for (let to = own; count > 0; count--, w += apart, to += 32) {
    if (dots) {
      if (isQ4) oneDotsQ4(blocks, w, x, settings, to);
      else oneDotsQ8(blocks, w, x, settings, to);
    } else if (isQ4) oneQ4(blocks, w, 0, x, settings, to);
    else oneQ8(blocks, w, 0, x, settings, to);
  }
}

/** A group by four rows of x; the sums go to `own`, [row][8]. */
// @ts-ignore: decorator
@inline
function fourRows(isQ4: bool, blocks: i32, w: usize, x: usize, settings: usize): void {
  if (dots) {
    if (isQ4) fourDotsQ4(blocks, w, x, settings, own);
    else fourDotsQ8(blocks, w, x, settings, own);
  } else if (isQ4) fourQ4(blocks, w, x, settings, own);
  else fourQ8(blocks, w, x, settings, own);
}
