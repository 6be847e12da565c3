import { GROUP, Q8_0, blockBytes, columns, highScales, lowScales, scaleBytes } from "./quantizedBlock";
import { CONSTANTS } from "./quantizedConstants";
import { at } from "./vector";

/** Bytes of two columns of a group. */
const PAIR: usize = 16;

/**
 * Packs a panel of Wᵀ as `packColumns` does, from W [out, in] in q8_0: its columns are rows of W. Rows padding W's
 * last group are 0.
 * @param k0 and depth: even
 * @param group address of the first column's group; the next group is `groupBytes` further
 */
export function packGroups(to: usize, k0: i32, depth: i32, columns: i32, group: usize, groupBytes: usize): void {
  for (let j = 0; j < columns; j += GROUP) {
    packGroup(at(to, j), k0, k0 + depth, at(0, columns), group);
    group += groupBytes;
  }
}

/** Packs columns k to `end` of a group. */
// @ts-ignore: decorator
@inline
function packGroup(to: usize, k: i32, end: i32, line: usize, group: usize): void {
  while (k < end) {
    const block = group + <usize>(k / columns(Q8_0)) * blockBytes(Q8_0);
    const first = lowScales(Q8_0, block, block, CONSTANTS), last = highScales(Q8_0, block, block, CONSTANTS);
    let from = block + scaleBytes(Q8_0) + <usize>(k % columns(Q8_0)) * GROUP;
    for (const stop = min(end, (k / columns(Q8_0) + 1) * columns(Q8_0)); k < stop; k += 2) {
      const pairs = v128.load(from);
      storeScaled(to, i16x8.shr_s(i16x8.shl(pairs, 8), 8), first, last);
      storeScaled(to + line, i16x8.shr_s(pairs, 8), first, last);
      from += PAIR;
      to += 2 * line;
    }
  }
}

/**
 * Packs a panel of W itself: its columns are those of W from `j` on, a multiple of 8.
 * @param k0 a multiple of 8
 */
export function packGroupsBack(
  to: usize, k0: i32, depth: i32, columns: i32, j: i32, w: usize, groupBytes: usize,
): void {
  const line = at(0, columns);
  let group = w + <usize>(k0 / GROUP) * groupBytes;
  for (let k = 0; k < depth; k += GROUP) {
    for (let c = 0; c < columns; c += GROUP) {
      packRows(at(to, k * columns + c), min(GROUP, depth - k), line, group, j + c);
    }
    group += groupBytes;
  }
}

/** Packs eight columns of the first `rows` rows of a group. */
// @ts-ignore: decorator
@inline
function packRows(to: usize, rows: i32, line: usize, group: usize, j: i32): void {
  const block = group + <usize>(j / columns(Q8_0)) * blockBytes(Q8_0);
  const from = block + scaleBytes(Q8_0) + <usize>(j % columns(Q8_0)) * GROUP;
  const p0 = v128.load(from), p1 = v128.load(from, 16), p2 = v128.load(from, 32), p3 = v128.load(from, 48);
  const low01 = v128.shuffle<i16>(p0, p1, 0, 8, 1, 9, 2, 10, 3, 11);
  const low23 = v128.shuffle<i16>(p2, p3, 0, 8, 1, 9, 2, 10, 3, 11);
  const high01 = v128.shuffle<i16>(p0, p1, 4, 12, 5, 13, 6, 14, 7, 15);
  const high23 = v128.shuffle<i16>(p2, p3, 4, 12, 5, 13, 6, 14, 7, 15);
  let scales = lowScales(Q8_0, block, block, CONSTANTS);
  storeRows(to, rows, line, v128.shuffle<i32>(low01, low23, 0, 4, 1, 5), scales);
  scales = v128.shuffle<i32>(scales, scales, 2, 3, 2, 3);
  storeRows(to + 2 * line, rows - 2, line, v128.shuffle<i32>(low01, low23, 2, 6, 3, 7), scales);
  scales = highScales(Q8_0, block, block, CONSTANTS);
  storeRows(to + 4 * line, rows - 4, line, v128.shuffle<i32>(high01, high23, 0, 4, 1, 5), scales);
  scales = v128.shuffle<i32>(scales, scales, 2, 3, 2, 3);
  storeRows(to + 6 * line, rows - 6, line, v128.shuffle<i32>(high01, high23, 2, 6, 3, 7), scales);
}

/** Stores two rows of eight numbers, or the first alone if `rows` is 1. */
// @ts-ignore: decorator
@inline
function storeRows(to: usize, rows: i32, line: usize, numbers: v128, scales: v128): void {
  if (rows > 0) {
    const scale = v128.shuffle<i32>(scales, scales, 0, 0, 0, 0);
    storeScaled(to, i16x8.extend_low_i8x16_s(numbers), scale, scale);
  }
  if (rows > 1) {
    const scale = v128.shuffle<i32>(scales, scales, 1, 1, 1, 1);
    storeScaled(to + line, i16x8.extend_high_i8x16_s(numbers), scale, scale);
  }
}

/** Stores eight numbers, the first four times one scale, the last four times another. */
// @ts-ignore: decorator
@inline
function storeScaled(to: usize, numbers: v128, first: v128, last: v128): void {
  v128.store(to, f32x4.mul(f32x4.convert_i32x4_s(i32x4.extend_low_i16x8_s(numbers)), first));
  v128.store(to, f32x4.mul(f32x4.convert_i32x4_s(i32x4.extend_high_i16x8_s(numbers)), last), 16);
}
