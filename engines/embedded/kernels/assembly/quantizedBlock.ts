// Where quantized weights lie: in groups of eight rows, whose blocks of 32 columns follow one another. A block
// of a group has the rows' eight scales, then their numbers side by side, so that a lane is a row:
// q8_0: 16 × [8 rows][2 columns] of int8; q4_0: 4 × [8 rows][4 bytes], byte j of 8 columns with column j in
// its lower half and column j + 4 in its upper one, each 8 more than it counts.

/** The types, by ggml's numbers. */
// @ts-ignore: decorator
@inline
export const Q4_0: i32 = 2;
// @ts-ignore: decorator
@inline
export const Q8_0: i32 = 8;

/** Whether a type's numbers have four bits. */
// @ts-ignore: decorator
@inline
export function isNibbles(type: i32): bool {
  return type == Q4_0;
}

/** Columns that share a scale. */
// @ts-ignore: decorator
@inline
export const BLOCK: i32 = 32;
/** Rows of a group. */
// @ts-ignore: decorator
@inline
export const GROUP: i32 = 8;
/** Bytes of a group's scales, which its numbers follow. */
// @ts-ignore: decorator
@inline
export const SCALES: usize = 16;

/** Bytes of a group's block. */
// @ts-ignore: decorator
@inline
export function blockBytes(type: i32): usize {
  return isNibbles(type) ? 144 : 272;
}

/** Bytes of rows of `width` columns, in whole groups. */
// @ts-ignore: decorator
@inline
export function groupBytes(type: i32, width: i32): usize {
  return <usize>(width / BLOCK) * blockBytes(type);
}

/** From float16's exponent to that of a scale without a sign, and from there to float32's. */
const FROM_HALF: u32 = 10 << 10;
// @ts-ignore: decorator
@inline
export const TO_FLOAT: u32 = 102 << 23;

/**
 * Four rows' scales as float32, from words that were widened, of q4_0 with their signs. q4_0 has float16. q8_0's
 * have no sign, and six bits of exponent in place of five: so float16's denormals, which small weights have, are
 * none, and the processor doesn't slow down.
 * @param constants those of quantizedConstants.ts
 */
// @ts-ignore: decorator
@inline
export function scales(type: i32, words: v128, constants: usize): v128 {
  const bits = i32x4.shl(words, 13);
  if (type == Q8_0) return i32x4.add(bits, v128.load32_splat(constants));
  return f32x4.mul(v128.and(bits, v128.load32_splat(constants, 4)), v128.load32_splat(constants, 8));
}

/** The scales of a group's first four rows in a block. */
// @ts-ignore: decorator
@inline
export function low(type: i32, block: usize, constants: usize): v128 {
  return scales(type, type == Q4_0 ? v128.load_ext<i16>(block) : v128.load_ext<u16>(block), constants);
}

/** Those of its last four rows. */
// @ts-ignore: decorator
@inline
export function high(type: i32, block: usize, constants: usize): v128 {
  return scales(type, type == Q4_0 ? v128.load_ext<i16>(block, 8) : v128.load_ext<u16>(block, 8), constants);
}

/** A scale in float16 becomes as it is stored. */
export function stored(type: i32, half: u32): u32 {
  if (type == Q4_0 || half == 0) return half;
  if (half >= 0x400) return half + FROM_HALF;
  return (reinterpret<u32>(<f32>half * reinterpret<f32>(0x33800000)) - TO_FLOAT) >> 13;
}

/** The nearest float16, and of two the even one. */
export function toHalf(x: f32): u32 {
  const bits = reinterpret<u32>(x), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
  if (size >= 0x477ff000) return sign | 0x7c00;
  // Adding 1/2, whose last place is float16's smallest number, rounds there.
  if (size < 0x38800000) return sign | (reinterpret<u32>(reinterpret<f32>(size) + 0.5) - 0x3f000000);
  return sign | (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13;
}

/** The greatest size of the lanes, whose signs are off. NaN is greater than all, so that it isn't lost. */
// @ts-ignore: decorator
@inline
export function greatestSize(sizes: v128): f32 {
  sizes = i32x4.max_s(sizes, v128.shuffle<i32>(sizes, sizes, 2, 3, 0, 1));
  sizes = i32x4.max_s(sizes, v128.shuffle<i32>(sizes, sizes, 1, 0, 3, 2));
  return f32x4.extract_lane(sizes, 0);
}
