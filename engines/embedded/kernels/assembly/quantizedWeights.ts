import { begin, claim } from "./thread";
import { at, LANES, loadOne, loadWide } from "./vector";
import {
  GROUP, Q4_0, Q4_K, Q5_0, Q6_K, Q8_0, blockBytes, columns, fromHalves, fromStored, maxMagnitude, groupBytes, hasSubBlocks,
  headBytes, isNibbles, scaleBytes, toStored, toHalf, ggufColumns,
} from "./quantizedBlock";
import { CONSTANTS } from "./quantizedConstants";

/** Rows of a table a thread claims at a time. */
const ROWS: i32 = 16;
/** Columns of a q8_0 or q4_0 block, and bytes of its scales. */
const BLOCK: i32 = 32;
const SCALE_BYTES: usize = 16;

/**
 * Quantizes rows of W to q4_0 or q8_0 on this thread alone, to the same numbers as GGUF's.
 * @param from [rows, width], in bfloat16 if `isBf16`; the width is a multiple of 32
 * @param w the whole matrix, ⌈out / 8⌉ groups, see quantizedBlock.ts
 * @param first index of the first row in W
 * @returns whether every scale is a finite float16
 */
export function quantizeWeights(
  type: i32, first: i32, rows: i32, width: i32, from: usize, isBf16: bool, w: usize,
): bool {
  const bytes = BLOCK * (isBf16 ? 2 : 4);
  let areFinite = true;
  for (let r = first; r < first + rows; r++) {
    let block = w + <usize>(r / GROUP) * groupBytes(type, width);
    for (let k = 0; k < width; k += BLOCK) {
      const half = type == Q4_0 ? putQ4(from, isBf16, block, r % GROUP) : putQ8(from, isBf16, block, r % GROUP);
      store<u16>(block + 2 * <usize>(r % GROUP), <u16>(type == Q4_0 ? half : toStored(half)));
      if ((half & 0x7c00) == 0x7c00) areFinite = false;
      from += bytes;
      block += blockBytes(type);
    }
  }
  return areFinite;
}

/** The largest magnitude in a block. */
// @ts-ignore: decorator
@inline
function blockMax(from: usize, isBf16: bool): f32 {
  let sizes = i32x4.splat(0);
  for (let i = 0; i < BLOCK; i += LANES) {
    sizes = i32x4.max_s(sizes, f32x4.abs(loadWide(from + <usize>i * (isBf16 ? 2 : 4), isBf16)));
  }
  return maxMagnitude(sizes);
}

/** Quantizes a block of a row to q8_0, rounding halves away from 0. @returns its scale in float16 */
function putQ8(from: usize, isBf16: bool, block: usize, lane: i32): u32 {
  const scale = blockMax(from, isBf16) / 127, half = toHalf(scale);
  const inverse = f32x4.splat(half ? 1 / scale : 0), step: usize = isBf16 ? 8 : 16;
  let to = block + SCALE_BYTES + 2 * <usize>lane;
  for (let i = 0; i < BLOCK; i += 2 * LANES) {
    const a = rounded(f32x4.mul(loadWide(from, isBf16), inverse));
    const b = rounded(f32x4.mul(loadWide(from + step, isBf16), inverse));
    const words = i16x8.narrow_i32x4_s(a, b), pairs = i8x16.narrow_i16x8_s(words, words);
    v128.store16_lane(to, pairs, 0); v128.store16_lane(to, pairs, 1, 16);
    v128.store16_lane(to, pairs, 2, 32); v128.store16_lane(to, pairs, 3, 48);
    to += 64;
    from += 2 * step;
  }
  return half;
}

// @ts-ignore: decorator
@inline
function rounded(x: v128): v128 {
  const size = f32x4.abs(x), below = f32x4.floor(size), rest = f32x4.sub(size, below);
  const nearest = f32x4.add(below, f32x4.floor(f32x4.add(rest, rest)));
  return i32x4.trunc_sat_f32x4_s(v128.or(nearest, v128.xor(x, size)));
}

/** As `putQ8`, but to q4_0: the first number with the largest magnitude becomes -8. */
function putQ4(from: usize, isBf16: bool, block: usize, lane: i32): u32 {
  const scale = firstOfSize(from, isBf16, blockMax(from, isBf16)) / -8, half = toHalf(scale);
  const inverse = f32x4.splat(half & 0x7fff ? 1 / scale : 0), step: usize = isBf16 ? 8 : 16;
  const offset = f32x4.splat(8.5), top = i32x4.splat(15);
  let to = block + SCALE_BYTES + 4 * <usize>lane;
  for (let i = 0; i < BLOCK; i += 2 * LANES) {
    const x = f32x4.add(f32x4.mul(loadWide(from, isBf16), inverse), offset);
    const y = f32x4.add(f32x4.mul(loadWide(from + step, isBf16), inverse), offset);
    const low = i32x4.min_s(i32x4.trunc_sat_f32x4_s(x), top);
    const high = i32x4.min_s(i32x4.trunc_sat_f32x4_s(y), top);
    const bytes = v128.or(low, i32x4.shl(high, 4)), words = i16x8.narrow_i32x4_u(bytes, bytes);
    v128.store32_lane(to, i8x16.narrow_i16x8_u(words, words), 0);
    to += 32;
    from += 2 * step;
  }
  return half;
}

/** The first number of a block with this magnitude. */
// @ts-ignore: decorator
@inline
function firstOfSize(from: usize, isBf16: bool, size: f32): f32 {
  const bytes: usize = isBf16 ? 2 : 4;
  for (let i = 0; i < BLOCK; i++, from += bytes) {
    const x = loadOne(from, isBf16);
    if (abs(x) == size) return x;
  }
  return size;
}

/**
 * Repacks rows of W from GGUF's blocks, on this thread alone.
 * @param from [rows, width] in blocks
 * @param w and first: as in `quantizeWeights`
 */
export function packBlocks(type: i32, first: i32, rows: i32, width: i32, from: usize, w: usize): void {
  const blockColumns = ggufColumns(type), bytes = groupBytes(type, blockColumns);
  for (let r = first; r < first + rows; r++) {
    let to = w + <usize>(r / GROUP) * groupBytes(type, width);
    for (let k = 0; k < width; k += blockColumns) {
      packBlock(type, from, to, r % GROUP);
      from += fileBytes(type);
      to += bytes;
    }
  }
}

/** Bytes of a GGUF block. */
function fileBytes(type: i32): usize {
  return type == Q4_0 ? 18 : type == Q5_0 ? 22 : type == Q8_0 ? 34 : type == Q4_K ? 144 : 210;
}

function packBlock(type: i32, from: usize, top: usize, lane: i32): void {
  const half = load<u16>(type == Q6_K ? from + 208 : from), row = <usize>lane, span = columns(type);
  // q5_0 is stored as q8_0, whose scales have no sign and are not 0.
  const factor = (half & 0x7fff) == 0 ? 0 : type == Q5_0 && half >> 15 ? -1 : 1;
  if (hasSubBlocks(type)) store<f32>(top + 4 * row, fromHalf(half));
  else store<u16>(top + 2 * row, <u16>(type == Q4_0 ? half : toStored(half & 0x7fff)));
  if (type == Q4_K) store<f32>(top + 32 + 4 * row, -fromHalf(load<u16>(from, 2)));
  let block = top + headBytes(type);
  for (let k = 0; k < ggufColumns(type); k += span) {
    if (type == Q4_K) {
      store<u8>(block + row, <u8>sixBits(from, 4, k / span));
      store<u8>(block + 8 + row, <u8>sixBits(from, 8, k / span));
    } else if (type == Q6_K) store<u8>(block + row, load<u8>(from + 192 + <usize>(k / span)));
    const numbers = block + scaleBytes(type);
    for (let i = 0; i < span; i++) {
      const number = numberAt(type, from, k + i), to = numbers + offsetOf(type, i, lane);
      if (!isNibbles(type)) store<i8>(to, <i8>(type == Q6_K ? number : number * factor));
      else store<u8>(to, <u8>(i & 4 ? byte(to) | number << 4 : number));
    }
    block += blockBytes(type);
  }
}

/** Offset of a row's number i in a group's block, after the scales; two nibbles share a byte. */
// @ts-ignore: decorator
@inline
function offsetOf(type: i32, i: i32, lane: i32): usize {
  return isNibbles(type) ? (i >> 3) * 32 + lane * 4 + (i & 3) : (i >> 1) * 16 + lane * 2 + (i & 1);
}

/** Number k of a GGUF block. */
// @ts-ignore: decorator
@inline
function numberAt(type: i32, from: usize, k: i32): i32 {
  if (type == Q8_0) return load<i8>(from + 2 + k);
  if (type == Q4_0) return byte(from + 2 + (k & 15)) >> (k >> 4 << 2) & 15;
  if (type == Q4_K) return byte(from + 16 + (k >> 6 << 5) + (k & 31)) >> (k >> 5 << 2 & 4) & 15;
  if (type == Q5_0) {
    return (byte(from + 6 + (k & 15)) >> (k >> 4 << 2) & 15 | (<i32>(load<u32>(from, 2) >> k & 1)) << 4) - 16;
  }
  const lower = byte(from + (k >> 7 << 6) + (k & 63)) >> (k >> 6 << 2 & 4) & 15;
  return (lower | (byte(from + 128 + (k >> 7 << 5) + (k & 31)) >> (k >> 5 << 1 & 6) & 3) << 4) - 32;
}

/** A sub-block's scale or minimum in q4_K. @param start offset of those of the first four sub-blocks */
function sixBits(from: usize, start: i32, i: i32): i32 {
  if (i < 4) return byte(from + start + i) & 63;
  const low = byte(from + 8 + i) >> (start == 4 ? 0 : 4) & 15;
  return low | byte(from + start + i - 4) >> 6 << 4;
}

// @ts-ignore: decorator
@inline
function byte(from: usize): i32 {
  return load<u8>(from);
}

/**
 * y[r, :] = table[ids[r], :], widened to float32.
 * @param ids [rows], int32
 * @param table [vocabulary, width], quantized
 */
export function embedQuantized(type: i32, rows: i32, width: i32, ids: usize, table: usize, y: usize): void {
  const counter = begin(), span = columns(type), blockColumns = ggufColumns(type);
  for (let r = claim(counter) * ROWS; r < rows; r = claim(counter) * ROWS) {
    for (const end = min(r + ROWS, rows); r < end; r++) {
      const id = load<i32>(at(ids, r));
      let top = table + <usize>(id / GROUP) * groupBytes(type, width), block = top;
      for (let k = 0; k < width; k += span, block += blockBytes(type)) {
        if (k % blockColumns == 0) { top = block; block += headBytes(type); }
        widen(type, top, block, id % GROUP, at(y, r * width + k));
      }
    }
  }
}

/** Widens a block of one row of a group. */
function widen(type: i32, top: usize, block: usize, lane: i32, y: usize): void {
  const row = <usize>lane, word = load<u16>(block + 2 * row);
  let scale: f32 = 0, minimum: f32 = 0;
  if (type == Q4_0) scale = fromHalf(word);
  else if (!hasSubBlocks(type)) scale = f32x4.extract_lane(fromStored(i32x4.splat(word), CONSTANTS), 0);
  else {
    scale = load<f32>(top + 4 * row) * <f32>(type == Q6_K ? load<i8>(block + row) : byte(block + row));
    if (type == Q4_K) minimum = load<f32>(top + 32 + 4 * row) * <f32>byte(block + 8 + row);
  }
  for (let i = 0; i < columns(type); i++) {
    const from = block + scaleBytes(type) + offsetOf(type, i, lane);
    let number = <i32>load<i8>(from);
    if (isNibbles(type)) number = byte(from) >> (i & 4) & 15;
    store<f32>(at(y, i), <f32>(type == Q4_0 ? number - 8 : number) * scale + minimum);
  }
}

// @ts-ignore: decorator
@inline
function fromHalf(half: i32): f32 {
  return f32x4.extract_lane(fromHalves(i32x4.splat(half << 16 >> 16), CONSTANTS), 0);
}
