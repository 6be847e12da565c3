import { begin, claim } from "./thread";
import { at, LANES } from "./vector";
import { Q4_0, columns, maxMagnitude, isNibbles } from "./quantizedBlock";

/** Number of rows of x whose words are interleaved, to share the weights. The last three or fewer are stored singly. */
// @ts-ignore: decorator
@inline
export const INTERLEAVED: i32 = 4;
/** The highest quantized inputs. Those for bytes have two 7-bit digits. */
const MAX_OF_BYTES: f32 = 8191;
const MAX_OF_NIBBLES: f32 = 127;
const MIN_NORMAL: f32 = 1.1754943508222875e-38;

/** Whether to use relaxed dot products, whose second operand is an unsigned number of 7 bits. */
let dotsBytes: bool = false, dotsNibbles: bool = false;

/** Uses relaxed dot products from now on, for nibbles and optionally for bytes. */
export function useDots(alsoBytes: bool): void {
  dotsNibbles = ASC_FEATURE_RELAXED_SIMD;
  dotsBytes = ASC_FEATURE_RELAXED_SIMD && alsoBytes;
}

// @ts-ignore: decorator
@inline
export function usesDots(type: i32): bool {
  return ASC_FEATURE_RELAXED_SIMD && (isNibbles(type) ? dotsNibbles : dotsBytes);
}

/** Factors of x, 256, 16, 1, 256, that make up for each nibble's position in its 16-bit word, which isn't shifted. */
const NIBBLE_FACTORS = memory.data<i16>([256, 256, 16, 16, 1, 1, 256, 256]);
const DIGITS = memory.data<i16>([8192, 127]);

/**
 * Quantizes x for `quantizedProduct`, with a scale for each block: to 14 bits for bytes, to 8 bits for nibbles. Threads
 * claim rows.
 * @param x [rows, width], its rows `xRow` numbers apart
 * @param to 2·rows·width bytes of numbers, word i of four rows, then their words i + 1; then 8 bytes for each block of
 * each row: its scale and, for q4_0, the initial sum, for q4_K the factor of the minimum
 */
export function quantizeInput(type: i32, rows: i32, width: i32, x: usize, xRow: i32, to: usize): void {
  const counter = begin(), allScales = scalesOf(to, rows, width);
  for (let r = claim(counter) * INTERLEAVED; r < rows; r = claim(counter) * INTERLEAVED) {
    const count = min(INTERLEAVED, rows - r), isInterleaved = count == INTERLEAVED;
    for (let i = 0; i < count; i++) {
      // Interleaved rows begin one word apart.
      const first = isInterleaved ? r : r + i, offset: usize = isInterleaved ? 4 * <usize>i : 0;
      const words = inputRow(to, width, first) + offset, scales = scalesRow(type, allScales, width, first) + offset;
      quantizeRow(type, width, at(x, (r + i) * xRow), words, scales, isInterleaved ? INTERLEAVED : 1);
    }
  }
}

/** Address of a row's numbers, or of four rows' from it on. */
// @ts-ignore: decorator
@inline
export function inputRow(input: usize, width: i32, row: i32): usize {
  return input + 2 * <usize>row * width;
}

/** Address of the scales, after all rows' numbers. */
// @ts-ignore: decorator
@inline
export function scalesOf(input: usize, rows: i32, width: i32): usize {
  return inputRow(input, width, rows);
}

// @ts-ignore: decorator
@inline
export function scalesRow(type: i32, scales: usize, width: i32, row: i32): usize {
  return scales + 8 * <usize>row * (width / columns(type));
}

/** Quantizes a row. @param step words from one of its words to the next */
function quantizeRow(type: i32, width: i32, x: usize, words: usize, scales: usize, step: i32): void {
  const stride: usize = 4 * step, nibbles = isNibbles(type), block = columns(type);
  for (let k = 0; k < width; k += block) {
    let sizes = i32x4.splat(0);
    for (let i = 0; i < block; i += LANES) sizes = i32x4.max_s(sizes, f32x4.abs(v128.load(at(x, i))));
    const scale = maxMagnitude(sizes) / (nibbles ? MAX_OF_NIBBLES : MAX_OF_BYTES);
    // 1 / a denormal may be infinite. NaN survives in the scale.
    const inverse = f32x4.splat(scale >= MIN_NORMAL ? 1 / scale : 0);
    store<f32>(scales, scale);
    const sum = nibbles ? putNibbles(x, inverse, words, stride) : putBytes(block, x, inverse, words, stride);
    if (type == Q4_0) store<i32>(scales + stride, -8 * (dotsNibbles ? sum : sum << 8));
    else if (nibbles) store<f32>(scales + stride, <f32>sum * scale);
    scales += 2 * stride;
    words += <usize>(nibbles && dotsNibbles ? 8 : block / 2) * stride;
    x = at(x, block);
  }
}

/** Eight scaled, rounded numbers. */
// @ts-ignore: decorator
@inline
function loadEight(x: usize, inverse: v128): v128 {
  const a = f32x4.nearest(f32x4.mul(v128.load(x), inverse));
  const b = f32x4.nearest(f32x4.mul(v128.load(x, 16), inverse));
  return i16x8.narrow_i32x4_s(i32x4.trunc_sat_f32x4_s(a), i32x4.trunc_sat_f32x4_s(b));
}

/** Stores a block in words of two numbers; with dot products, of four upper digits, then four lower ones. */
// @ts-ignore: decorator
@inline
function putBytes(block: i32, x: usize, inverse: v128, to: usize, stride: usize): i32 {
  for (let i = 0; i < block; i += 2 * LANES) {
    const n = loadEight(x, inverse);
    if (dotsBytes) {
      const v = i16x8.add(n, v128.load16_splat(DIGITS)), low = v128.and(v, v128.load16_splat(DIGITS, 2));
      const digits = i8x16.narrow_i16x8_u(i16x8.shr_u(v, 7), low), lower = to + <usize>(block / 4) * stride;
      v128.store32_lane(to, digits, 0); v128.store32_lane(to + stride, digits, 1);
      v128.store32_lane(lower, digits, 2); v128.store32_lane(lower + stride, digits, 3);
      to += 2 * stride;
    } else {
      putFour(n, to, stride);
      to += 4 * stride;
    }
    x += 32;
  }
  return 0;
}

/**
 * Stores a block in 4 × 4 words of two numbers whose weights share a nibble position; with dot products, in 8 words of
 * four numbers.
 * @returns the sum of the numbers
 */
// @ts-ignore: decorator
@inline
function putNibbles(x: usize, inverse: v128, to: usize, stride: usize): i32 {
  let sum = i32x4.splat(0);
  for (let i = 0; i < 32; i += 2 * LANES) {
    const n = loadEight(x, inverse);
    sum = i32x4.add(sum, i32x4.extadd_pairwise_i16x8_s(n));
    if (dotsNibbles) {
      const bytes = i8x16.narrow_i16x8_s(n, n);
      v128.store32_lane(to, bytes, 0); v128.store32_lane(to + stride, bytes, 1);
      to += 2 * stride;
    } else {
      const pairs = v128.shuffle<i16>(n, n, 0, 2, 4, 6, 1, 3, 5, 7);
      putFour(i16x8.mul(pairs, v128.load(NIBBLE_FACTORS)), to, stride);
      to += 4 * stride;
    }
    x += 32;
  }
  sum = i32x4.add(sum, v128.shuffle<i32>(sum, sum, 2, 3, 0, 1));
  return i32x4.extract_lane(sum, 0) + i32x4.extract_lane(sum, 1);
}

// @ts-ignore: decorator
@inline
function putFour(words: v128, to: usize, stride: usize): void {
  v128.store32_lane(to, words, 0); v128.store32_lane(to + stride, words, 1);
  v128.store32_lane(to + 2 * stride, words, 2); v128.store32_lane(to + 3 * stride, words, 3);
}
