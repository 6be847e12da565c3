import { begin, claim, threadScratch } from "./thread";
import { at } from "./vector";
import { GROUP, columns, groupBytes } from "./quantizedBlock";
import { CONSTANTS } from "./quantizedConstants";
import { INTERLEAVED, inputRow, scalesOf, scalesRow, usesDots } from "./quantizedInput";
import { fourSums, oneSums } from "./quantizedSums";
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
 * y = addend + x·Wᵀ on all threads, for an x that `quantizeInput` has finished. A block is summed in integers, the
 * blocks in float32 and in order: the bits are the same for any number of rows and threads.
 * @param w [out, width], quantized, see quantizedBlock.ts
 * @param x [rows, width]
 * @param y [rows, out], rows `yRow` elements apart
 * @param addend laid out as y, or y itself; 0 is none
 * @param share groups of eight rows of W a thread claims at a time
 */
export function quantizedProduct(
  type: i32, rows: i32, out: i32, width: i32, w: usize, x: usize, y: usize, yRow: i32, addend: usize,
  share: i32,
): void {
  const counter = begin(), groups = (out + GROUP - 1) / GROUP, bytes = groupBytes(type, width);
  const xScales = scalesOf(x, rows, width), blocks = width / columns(type), interleaved = rows & ~(INTERLEAVED - 1);
  for (let g = claim(counter) * share; g < groups; g = claim(counter) * share) {
    const end = min(g + share, groups);
    for (let i = g; i < end && interleaved > 0; i++) {
      const from = w + <usize>i * bytes;
      for (let r = 0; r < interleaved; r += INTERLEAVED) {
        fourRows(type, blocks, from, inputRow(x, width, r), scalesRow(type, xScales, width, r));
        for (let s = 0; s < INTERLEAVED; s++) put(threadScratch + 32 * <usize>s, i * GROUP, out, (r + s) * yRow, y, addend);
      }
    }
    for (let r = interleaved; r < rows; r++) {
      const input = inputRow(x, width, r), scales = scalesRow(type, xScales, width, r);
      const stride = (end - g) / STREAMS;
      for (let i = g; i < g + stride; i++) {
        oneRow(type, blocks, w + <usize>i * bytes, <usize>stride * bytes, input, scales);
        for (let s = 0; s < STREAMS; s++) put(threadScratch + 32 * <usize>s, (i + s * stride) * GROUP, out, r * yRow, y, addend);
      }
      for (let i = g + STREAMS * stride; i < end; i++) {
        oneRow(type, blocks, w + <usize>i * bytes, 0, input, scales);
        put(threadScratch, i * GROUP, out, r * yRow, y, addend);
      }
    }
  }
}

/** Stores eight numbers of a row of y, or those that remain. */
// @ts-ignore: decorator
@inline
function put(from: usize, column: i32, out: i32, row: i32, y: usize, addend: usize): void {
  const to = row + column, count = min(GROUP, out - column);
  if (count == GROUP) {
    const a = v128.load(from), b = v128.load(from, 16), addendAt = at(addend, to);
    v128.store(at(y, to), addend ? f32x4.add(a, v128.load(addendAt)) : a);
    v128.store(at(y, to), addend ? f32x4.add(b, v128.load(addendAt, 16)) : b, 16);
    return;
  }
  for (let i = 0; i < count; i++) {
    const value = load<f32>(at(from, i));
    store<f32>(at(y, to + i), addend ? value + load<f32>(at(addend, to + i)) : value);
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
  else oneSums(type, blocks, w, stride, x, xScales, threadScratch, CONSTANTS);
}

/** A group times four rows of x; the sums go to `threadScratch`, [row][8]. */
// @ts-ignore: decorator
@inline
function fourRows(type: i32, blocks: i32, w: usize, x: usize, xScales: usize): void {
  if (usesDots(type)) fourDots(type, blocks, w, x, xScales, threadScratch);
  else if (ASC_FEATURE_RELAXED_SIMD && wide) wideFour(type, blocks, w, x, xScales, threadScratch, CONSTANTS);
  else fourSums(type, blocks, w, x, xScales, threadScratch, CONSTANTS);
}
