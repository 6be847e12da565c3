import { begin, claim } from "./thread";
import { at, LANES, loadOne, loadWide } from "./vector";
import {
  GROUP, Q4_0, Q4_K, Q5_0, Q6_K, Q8_0, blockBytes, columns, fromHalves, fromStored, greatestSize, groupBytes, hasParts,
  headBytes, isNibbles, scaleBytes, stored, toHalf, wholeColumns,
} from "./quantizedBlock";
import { CONSTANTS } from "./quantizedConstants";

/** Rows of a table that a thread claims at a time. */
const ROWS: i32 = 16;
/** Columns of a block of q8_0 or q4_0, and bytes of its scales. */
const BLOCK: i32 = 32;
const SCALES: usize = 16;

/**
 * Quantizes rows of W, by this thread alone, to q4_0 or to q8_0: the numbers that GGUF's blocks have.
 * @param from [rows, width], of bfloat16 if `isBf16`; the width is a multiple of 32
 * @param w the whole matrix, ⌈out / 8⌉ groups, see quantizedBlock.ts; the rows become its `first` and the next
 * @returns whether every scale is a finite float16
 */
export function quantizeWeights(
  type: i32, first: i32, rows: i32, width: i32, from: usize, isBf16: bool, w: usize,
): bool {
  const bytes = BLOCK * (isBf16 ? 2 : 4);
  let fits = true;
  for (let r = first; r < first + rows; r++) {
    let block = w + <usize>(r / GROUP) * groupBytes(type, width);
    for (let k = 0; k < width; k += BLOCK) {
      const half = type == Q4_0 ? putQ4(from, isBf16, block, r % GROUP) : putQ8(from, isBf16, block, r % GROUP);
      store<u16>(block + 2 * <usize>(r % GROUP), <u16>(type == Q4_0 ? half : stored(half)));
      if ((half & 0x7c00) == 0x7c00) fits = false;
      from += bytes;
      block += blockBytes(type);
    }
  }
  return fits;
}

/** The greatest size of a block's numbers. */
// @ts-ignore: decorator
@inline
function most(from: usize, isBf16: bool): f32 {
  let sizes = i32x4.splat(0);
  for (let i = 0; i < BLOCK; i += LANES) {
    sizes = i32x4.max_s(sizes, f32x4.abs(loadWide(from + <usize>i * (isBf16 ? 2 : 4), isBf16)));
  }
  return greatestSize(sizes);
}

/** Writes a block of a row and returns its scale in float16. Halves are rounded away from 0. */
function putQ8(from: usize, isBf16: bool, block: usize, lane: i32): u32 {
  const scale = most(from, isBf16) / 127, half = toHalf(scale);
  const inverse = f32x4.splat(half ? 1 / scale : 0), step: usize = isBf16 ? 8 : 16;
  let to = block + SCALES + 2 * <usize>lane;
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

/** The same in q4_0: the number of greatest size, the first of several, becomes -8. */
function putQ4(from: usize, isBf16: bool, block: usize, lane: i32): u32 {
  const scale = first(from, isBf16, most(from, isBf16)) / -8, half = toHalf(scale);
  const inverse = f32x4.splat(half & 0x7fff ? 1 / scale : 0), step: usize = isBf16 ? 8 : 16;
  const offset = f32x4.splat(8.5), top = i32x4.splat(15);
  let to = block + SCALES + 4 * <usize>lane;
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

/** The first of a block's numbers that has this size. */
// @ts-ignore: decorator
@inline
function first(from: usize, isBf16: bool, size: f32): f32 {
  const bytes: usize = isBf16 ? 2 : 4;
  for (let i = 0; i < BLOCK; i++, from += bytes) {
    const x = loadOne(from, isBf16);
    if (abs(x) == size) return x;
  }
  return size;
}

/**
 * Takes rows of W in blocks of GGUF, by this thread alone.
 * @param from [rows, width] in blocks
 * @param w as `quantizeWeights` has it
 */
export function placeBlocks(type: i32, first: i32, rows: i32, width: i32, from: usize, w: usize): void {
  const whole = wholeColumns(type), bytes = groupBytes(type, whole);
  for (let r = first; r < first + rows; r++) {
    let to = w + <usize>(r / GROUP) * groupBytes(type, width);
    for (let k = 0; k < width; k += whole) {
      placeBlock(type, from, to, r % GROUP);
      from += fileBytes(type);
      to += bytes;
    }
  }
}

/** Bytes of a block of GGUF. */
function fileBytes(type: i32): usize {
  return type == Q4_0 ? 18 : type == Q5_0 ? 22 : type == Q8_0 ? 34 : type == Q4_K ? 144 : 210;
}

function placeBlock(type: i32, from: usize, top: usize, lane: i32): void {
  const half = load<u16>(type == Q6_K ? from + 208 : from), row = <usize>lane, part = columns(type);
  // q5_0 lies as q8_0, whose scales have no sign and are not 0.
  const factor = (half & 0x7fff) == 0 ? 0 : type == Q5_0 && half >> 15 ? -1 : 1;
  if (hasParts(type)) store<f32>(top + 4 * row, fromHalf(half));
  else store<u16>(top + 2 * row, <u16>(type == Q4_0 ? half : stored(half & 0x7fff)));
  if (type == Q4_K) store<f32>(top + 32 + 4 * row, -fromHalf(load<u16>(from, 2)));
  let block = top + headBytes(type);
  for (let k = 0; k < wholeColumns(type); k += part) {
    if (type == Q4_K) {
      store<u8>(block + row, <u8>sixBits(from, 4, k / part));
      store<u8>(block + 8 + row, <u8>sixBits(from, 8, k / part));
    } else if (type == Q6_K) store<u8>(block + row, load<u8>(from + 192 + <usize>(k / part)));
    const numbers = block + scaleBytes(type);
    for (let i = 0; i < part; i++) {
      const number = numberAt(type, from, k + i), to = numbers + placeOf(type, i, lane);
      if (!isNibbles(type)) store<i8>(to, <i8>(type == Q6_K ? number : number * factor));
      else store<u8>(to, <u8>(i & 4 ? byte(to) | number << 4 : number));
    }
    block += blockBytes(type);
  }
}

/** Where number i of a row lies in a group's block, behind the scales; two nibbles share a place. */
// @ts-ignore: decorator
@inline
function placeOf(type: i32, i: i32, lane: i32): usize {
  return isNibbles(type) ? (i >> 3) * 32 + lane * 4 + (i & 3) : (i >> 1) * 16 + lane * 2 + (i & 1);
}

/** Number k of a block of GGUF. */
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

/** A part's scale in a block of q4_K, or its minimum. @param at where those of the first four are */
function sixBits(from: usize, at: i32, part: i32): i32 {
  if (part < 4) return byte(from + at + part) & 63;
  const low = byte(from + 8 + part) >> (at == 4 ? 0 : 4) & 15;
  return low | byte(from + at + part - 4) >> 6 << 4;
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
  const counter = begin(), part = columns(type), whole = wholeColumns(type);
  for (let r = claim(counter) * ROWS; r < rows; r = claim(counter) * ROWS) {
    for (const end = min(r + ROWS, rows); r < end; r++) {
      const id = load<i32>(at(ids, r));
      let top = table + <usize>(id / GROUP) * groupBytes(type, width), block = top;
      for (let k = 0; k < width; k += part, block += blockBytes(type)) {
        if (k % whole == 0) { top = block; block += headBytes(type); }
        widen(type, top, block, id % GROUP, at(y, r * width + k));
      }
    }
  }
}

/** A block of one row of a group. */
function widen(type: i32, top: usize, block: usize, lane: i32, y: usize): void {
  const row = <usize>lane, word = load<u16>(block + 2 * row);
  let scale: f32 = 0, more: f32 = 0;
  if (type == Q4_0) scale = fromHalf(word);
  else if (!hasParts(type)) scale = f32x4.extract_lane(fromStored(i32x4.splat(word), CONSTANTS), 0);
  else {
    scale = load<f32>(top + 4 * row) * <f32>(type == Q6_K ? load<i8>(block + row) : byte(block + row));
    if (type == Q4_K) more = load<f32>(top + 32 + 4 * row) * <f32>byte(block + 8 + row);
  }
  for (let i = 0; i < columns(type); i++) {
    const from = block + scaleBytes(type) + placeOf(type, i, lane);
    let number = <i32>load<i8>(from);
    if (isNibbles(type)) number = byte(from) >> (i & 4) & 15;
    store<f32>(at(y, i), <f32>(type == Q4_0 ? number - 8 : number) * scale + more);
  }
}

// @ts-ignore: decorator
@inline
function fromHalf(half: i32): f32 {
  return f32x4.extract_lane(fromHalves(i32x4.splat(half << 16 >> 16), CONSTANTS), 0);
}
