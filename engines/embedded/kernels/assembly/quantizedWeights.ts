import { begin, claim } from "./thread";
import { at, LANES, loadOne, loadWide } from "./vector";
import { BLOCK, Q4_0, Q8_0, blockBytes, GROUP, greatestSize, groupBytes, SCALES, scales, stored, toHalf } from "./quantizedBlock";
import { CONSTANTS } from "./quantizedConstants";

/** Rows of a table that a thread claims at a time. */
const ROWS: i32 = 16;

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
      store<u16>(block + 2 * <usize>(r % GROUP), <u16>stored(type, half));
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
 * y[r, :] = table[ids[r], :], widened to float32.
 * @param ids [rows], int32
 * @param table [vocabulary, width], quantized
 */
export function embedQuantized(type: i32, rows: i32, width: i32, ids: usize, table: usize, y: usize): void {
  const counter = begin();
  for (let r = claim(counter) * ROWS; r < rows; r = claim(counter) * ROWS) {
    for (const end = min(r + ROWS, rows); r < end; r++) {
      const id = load<i32>(at(ids, r)), group = table + <usize>(id / GROUP) * groupBytes(type, width);
      for (let k = 0; k < width; k += BLOCK) {
        const block = group + <usize>(k / BLOCK) * blockBytes(type), to = at(y, r * width + k);
        if (type == Q4_0) widenQ4(block, id % GROUP, to);
        else widenQ8(block, id % GROUP, to);
      }
    }
  }
}

/** The scale of one row of a group. */
// @ts-ignore: decorator
@inline
function scaleOf(type: i32, block: usize, lane: i32): f32 {
  const from = block + 2 * <usize>lane, word = type == Q4_0 ? <i32>load<i16>(from) : <i32>load<u16>(from);
  return f32x4.extract_lane(scales(type, i32x4.splat(word), CONSTANTS), 0);
}

// @ts-ignore: decorator
@inline
function widenQ8(block: usize, lane: i32, y: usize): void {
  const scale = scaleOf(Q8_0, block, lane);
  const from = block + SCALES + 2 * <usize>lane;
  for (let i = 0; i < BLOCK; i++) {
    store<f32>(at(y, i), <f32>load<i8>(from + <usize>(i >> 1) * 16 + (i & 1)) * scale);
  }
}

// @ts-ignore: decorator
@inline
function widenQ4(block: usize, lane: i32, y: usize): void {
  const scale = scaleOf(Q4_0, block, lane);
  const from = block + SCALES + 4 * <usize>lane;
  for (let i = 0; i < BLOCK; i++) {
    const byte = <i32>load<u8>(from + <usize>(i >> 3) * 32 + (i & 3));
    store<f32>(at(y, i), <f32>((i & 4 ? byte >> 4 : byte & 15) - 8) * scale);
  }
}
