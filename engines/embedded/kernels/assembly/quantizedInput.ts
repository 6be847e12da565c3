import { begin, claim } from "./thread";
import { at, LANES } from "./vector";
import { Q4_0, columns, greatestSize, isNibbles } from "./quantizedBlock";

/** Rows of x whose words lie side by side, to be multiplied by the same weights; the last three or fewer lie alone. */
// @ts-ignore: decorator
@inline
export const FOUR: i32 = 4;
/** The greatest numbers. Those for bytes are two digits of 7 bits. */
const MOST_OF_BYTES: f32 = 8191;
const MOST_OF_NIBBLES: f32 = 127;
const LEAST_NORMAL: f32 = 1.1754943508222875e-38;

/** Whether relaxed dot products multiply, whose second operand has 7 bits, without a sign. */
let dotsBytes: bool = false, dotsNibbles: bool = false;

/** Takes relaxed dot products from now on, for nibbles and, if wanted, for bytes. */
export function useDots(alsoBytes: bool): void {
  dotsNibbles = ASC_FEATURE_RELAXED_SIMD;
  dotsBytes = ASC_FEATURE_RELAXED_SIMD && alsoBytes;
}

// @ts-ignore: decorator
@inline
export function usesDots(type: i32): bool {
  return ASC_FEATURE_RELAXED_SIMD && (isNibbles(type) ? dotsNibbles : dotsBytes);
}

/** Factors of four pairs of numbers: 256, 16, 1, 256. A nibble is read where it lies in its word of 16 bits. */
const PLACES = memory.data<i16>([256, 256, 16, 16, 1, 1, 256, 256]);
const DIGITS = memory.data<i16>([8192, 127]);

/**
 * Quantizes x for `quantizedProduct`: to 14 bits a number for bytes, to 8 bits for nibbles, with a scale for each block.
 * Rows are claimed.
 * @param x [rows, width], its rows `xRow` numbers apart
 * @param to 2·rows·width bytes of numbers, then 8 bytes for each block of each row: its scale and, for q4_0,
 * what its sum of products begins with, for q4_K what its minimum is multiplied by. Word i of four rows lie side by side, then their words i + 1
 */
export function quantizeInput(type: i32, rows: i32, width: i32, x: usize, xRow: i32, to: usize): void {
  const counter = begin(), settings = scalesOf(to, rows, width);
  for (let r = claim(counter) * FOUR; r < rows; r = claim(counter) * FOUR) {
    const count = min(FOUR, rows - r), beside = count == FOUR;
    for (let i = 0; i < count; i++) {
      // Beside others, a row begins one word after the row before.
      const first = beside ? r : r + i, offset: usize = beside ? 4 * <usize>i : 0;
      const words = inputRow(to, width, first) + offset, scales = scalesRow(type, settings, width, first) + offset;
      line(type, width, at(x, (r + i) * xRow), words, scales, beside ? FOUR : 1);
    }
  }
}

/** Where the numbers of a row begin, or of four from it on. */
// @ts-ignore: decorator
@inline
export function inputRow(input: usize, width: i32, row: i32): usize {
  return input + 2 * <usize>row * width;
}

/** Where the scales begin behind the numbers of so many rows. */
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

/** A row, its words `beside` words apart. */
function line(type: i32, width: i32, x: usize, words: usize, scales: usize, beside: i32): void {
  const apart: usize = 4 * beside, nibbles = isNibbles(type), block = columns(type);
  for (let k = 0; k < width; k += block) {
    let sizes = i32x4.splat(0);
    for (let i = 0; i < block; i += LANES) sizes = i32x4.max_s(sizes, f32x4.abs(v128.load(at(x, i))));
    const scale = greatestSize(sizes) / (nibbles ? MOST_OF_NIBBLES : MOST_OF_BYTES);
    // Below, 1 / scale may be infinite; what is not a number stays so by its scale.
    const inverse = f32x4.splat(scale >= LEAST_NORMAL ? 1 / scale : 0);
    store<f32>(scales, scale);
    const sum = nibbles ? putNibbles(x, inverse, words, apart) : putBytes(block, x, inverse, words, apart);
    if (type == Q4_0) store<i32>(scales + apart, -8 * (dotsNibbles ? sum : sum << 8));
    else if (nibbles) store<f32>(scales + apart, <f32>sum * scale);
    scales += 2 * apart;
    words += <usize>(nibbles && dotsNibbles ? 8 : block / 2) * apart;
    x = at(x, block);
  }
}

/** Eight numbers, rounded. */
// @ts-ignore: decorator
@inline
function eight(x: usize, inverse: v128): v128 {
  const a = f32x4.nearest(f32x4.mul(v128.load(x), inverse));
  const b = f32x4.nearest(f32x4.mul(v128.load(x, 16), inverse));
  return i16x8.narrow_i32x4_s(i32x4.trunc_sat_f32x4_s(a), i32x4.trunc_sat_f32x4_s(b));
}

/** A block of words of two numbers each. With dot products, words of four upper digits, then of lower ones. */
// @ts-ignore: decorator
@inline
function putBytes(block: i32, x: usize, inverse: v128, to: usize, apart: usize): i32 {
  for (let i = 0; i < block; i += 2 * LANES) {
    const n = eight(x, inverse);
    if (dotsBytes) {
      const v = i16x8.add(n, v128.load16_splat(DIGITS)), low = v128.and(v, v128.load16_splat(DIGITS, 2));
      const digits = i8x16.narrow_i16x8_u(i16x8.shr_u(v, 7), low), lower = to + <usize>(block / 4) * apart;
      v128.store32_lane(to, digits, 0); v128.store32_lane(to + apart, digits, 1);
      v128.store32_lane(lower, digits, 2); v128.store32_lane(lower + apart, digits, 3);
      to += 2 * apart;
    } else {
      putFour(n, to, apart);
      to += 4 * apart;
    }
    x += 32;
  }
  return 0;
}

/**
 * A block of 4 × 4 words, each of two numbers whose weights lie in the same half of every other byte; returns
 * the sum. With dot products, 8 words of four numbers.
 */
// @ts-ignore: decorator
@inline
function putNibbles(x: usize, inverse: v128, to: usize, apart: usize): i32 {
  let sum = i32x4.splat(0);
  for (let i = 0; i < 32; i += 2 * LANES) {
    const n = eight(x, inverse);
    sum = i32x4.add(sum, i32x4.extadd_pairwise_i16x8_s(n));
    if (dotsNibbles) {
      const bytes = i8x16.narrow_i16x8_s(n, n);
      v128.store32_lane(to, bytes, 0); v128.store32_lane(to + apart, bytes, 1);
      to += 2 * apart;
    } else {
      const pairs = v128.shuffle<i16>(n, n, 0, 2, 4, 6, 1, 3, 5, 7);
      putFour(i16x8.mul(pairs, v128.load(PLACES)), to, apart);
      to += 4 * apart;
    }
    x += 32;
  }
  sum = i32x4.add(sum, v128.shuffle<i32>(sum, sum, 2, 3, 0, 1));
  return i32x4.extract_lane(sum, 0) + i32x4.extract_lane(sum, 1);
}

// @ts-ignore: decorator
@inline
function putFour(words: v128, to: usize, apart: usize): void {
  v128.store32_lane(to, words, 0); v128.store32_lane(to + apart, words, 1);
  v128.store32_lane(to + 2 * apart, words, 2); v128.store32_lane(to + 3 * apart, words, 3);
}
