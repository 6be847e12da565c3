import { begin, claim, threadScratch } from "./thread";
import { at } from "./vector";
import { GROUP, columns, groupBytes } from "./quantizedBlock";
import { CONSTANTS } from "./quantizedConstants";
import { FOUR, inputRow, scalesOf, scalesRow, usesDots } from "./quantizedInput";
import { four, one } from "./quantizedSums";
import { fourDots, oneDots } from "./quantizedDots";

/** Whether to sum on 256-bit vectors. */
let wide: bool = false;

/** Uses the wide sums from now on. */
export function widenSums(): void {
  wide = true;
}

// @ts-ignore: decorator
@external("env", "wideOne")
declare function wideOne(
  type: i32, blocks: i32, w: usize, stride: usize, x: usize, xScales: usize, y: usize, constants: usize,
): void;
// @ts-ignore: decorator
@external("env", "wideFour")
declare function wideFour(
  type: i32, blocks: i32, w: usize, x: usize, xScales: usize, y: usize, constants: usize,
): void;

/** Groups read in parallel for one row of x. */
const STREAMS: i32 = 4;

/**
 * y = added + x·Wᵀ on all threads, for an x that `quantizeInput` has finished. A block is summed in integers, blocks in
 * float32, in order: the same bits for any number of rows and threads.
 * @param w [out, width], quantized, see quantizedBlock.ts
 * @param x [rows, width]
 * @param y [rows, out], rows `yRow` elements apart
 * @param added laid out as y, or y itself; 0 is none
 * @param share groups of eight rows of W a thread claims at a time
 */
export function quantizedProduct(
  type: i32, rows: i32, out: i32, width: i32, w: usize, x: usize, y: usize, yRow: i32, added: usize,
  share: i32,
): void {
  const counter = begin(), groups = (out + GROUP - 1) / GROUP, bytes = groupBytes(type, width);
  const xScales = scalesOf(x, rows, width), blocks = width / columns(type), fours = rows & ~(FOUR - 1);
  for (let g = claim(counter) * share; g < groups; g = claim(counter) * share) {
    const end = min(g + share, groups);
    for (let i = g; i < end && fours > 0; i++) {
      const from = w + <usize>i * bytes;
      for (let r = 0; r < fours; r += FOUR) {
        fourRows(type, blocks, from, inputRow(x, width, r), scalesRow(type, xScales, width, r));
        for (let s = 0; s < FOUR; s++) put(threadScratch + 32 * <usize>s, i * GROUP, out, (r + s) * yRow, y, added);
      }
    }
    for (let r = fours; r < rows; r++) {
      const input = inputRow(x, width, r), scales = scalesRow(type, xScales, width, r);
      const stride = (end - g) / STREAMS;
      for (let i = g; i < g + stride; i++) {
        oneRow(type, blocks, w + <usize>i * bytes, <usize>stride * bytes, input, scales);
        for (let s = 0; s < STREAMS; s++) put(threadScratch + 32 * <usize>s, (i + s * stride) * GROUP, out, r * yRow, y, added);
      }
      for (let i = g + STREAMS * stride; i < end; i++) {
        oneRow(type, blocks, w + <usize>i * bytes, 0, input, scales);
        put(threadScratch, i * GROUP, out, r * yRow, y, added);
      }
    }
  }
}

/** Stores eight numbers of a row of y, or those that remain. */
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

/** Four groups, or one if `stride` is 0, times one row of x; the sums go to `threadScratch`, [group][8]. */
// @ts-ignore: decorator
@inline
function oneRow(type: i32, blocks: i32, w: usize, stride: usize, x: usize, xScales: usize): void {
  if (usesDots(type)) {
    const count: usize = stride ? 4 : 1;
    for (let s: usize = 0; s < count; s++) oneDots(type, blocks, w + s * stride, x, xScales, threadScratch + 32 * s);
  } else if (ASC_FEATURE_RELAXED_SIMD && wide) wideOne(type, blocks, w, stride, x, xScales, threadScratch, CONSTANTS);
  else one(type, blocks, w, stride, x, xScales, threadScratch, CONSTANTS);
}

/** A group times four rows of x; the sums go to `threadScratch`, [row][8]. */
// @ts-ignore: decorator
@inline
function fourRows(type: i32, blocks: i32, w: usize, x: usize, xScales: usize): void {
  if (usesDots(type)) fourDots(type, blocks, w, x, xScales, threadScratch);
  else if (ASC_FEATURE_RELAXED_SIMD && wide) wideFour(type, blocks, w, x, xScales, threadScratch, CONSTANTS);
  else four(type, blocks, w, x, xScales, threadScratch, CONSTANTS);
}
