// Where quantized weights lie: in groups of eight rows, whose blocks of columns follow one another. A block of a group
// has the rows' eight scales, then their numbers side by side, so that a lane is a row:
// q8_0, and q5_0 as such: 16 × [8 rows][2 columns] of int8; q6_K: 8 of these;
// q4_0 and q4_K: 4 × [8 rows][4 bytes], byte j of 8 columns with column j in its lower half and column j + 4 in its
// upper one, in q4_0 each 8 more than it counts.
// Of q4_K and q6_K, 256 columns begin with what all their scales are multiplied by: 8 float32, and of q4_K 8 for its
// minimums. A block has a byte for each row's scale, and of q4_K then one for its minimum.

/** The types, by ggml's numbers. */
// @ts-ignore: decorator
@inline
export const Q4_0: i32 = 2;
// @ts-ignore: decorator
@inline
export const Q5_0: i32 = 6;
// @ts-ignore: decorator
@inline
export const Q8_0: i32 = 8;
// @ts-ignore: decorator
@inline
export const Q4_K: i32 = 12;
// @ts-ignore: decorator
@inline
export const Q6_K: i32 = 14;

/** Whether a type's numbers have four bits. */
// @ts-ignore: decorator
@inline
export function isNibbles(type: i32): bool {
  return type == Q4_0 || type == Q4_K;
}

/** Whether 256 columns have parts, with scales in bytes. */
// @ts-ignore: decorator
@inline
export function hasParts(type: i32): bool {
  return type == Q4_K || type == Q6_K;
}

/** Columns that share a scale. */
// @ts-ignore: decorator
@inline
export function columns(type: i32): i32 {
  return type == Q6_K ? 16 : 32;
}

/** Columns of a block of GGUF. */
// @ts-ignore: decorator
@inline
export function wholeColumns(type: i32): i32 {
  return hasParts(type) ? 256 : 32;
}

/** Bytes before the first part of 256 columns of a group. */
// @ts-ignore: decorator
@inline
export function headBytes(type: i32): usize {
  return type == Q4_K ? 64 : type == Q6_K ? 32 : 0;
}

/** Bytes of a block's scales, which its numbers follow. */
// @ts-ignore: decorator
@inline
export function scaleBytes(type: i32): usize {
  return type == Q6_K ? 8 : 16;
}

/** Rows of a group. */
// @ts-ignore: decorator
@inline
export const GROUP: i32 = 8;
/** Bytes of a group's block. */
// @ts-ignore: decorator
@inline
export function blockBytes(type: i32): usize {
  return scaleBytes(type) + <usize>columns(type) * (isNibbles(type) ? 4 : 8);
}

/** Bytes of so many columns of a group: whole blocks of GGUF. */
// @ts-ignore: decorator
@inline
export function groupBytes(type: i32, width: i32): usize {
  return <usize>(width / columns(type)) * blockBytes(type) + <usize>(width / wholeColumns(type)) * headBytes(type);
}

/** From float16's exponent to that of a scale without a sign, and from there to float32's. */
const FROM_HALF: u32 = 10 << 10;
// @ts-ignore: decorator
@inline
export const TO_FLOAT: u32 = 102 << 23;

/**
 * Four numbers of float16, from words that were widened with their signs.
 * @param constants those of quantizedConstants.ts
 */
// @ts-ignore: decorator
@inline
export function fromHalves(words: v128, constants: usize): v128 {
  const bits = v128.and(i32x4.shl(words, 13), v128.load32_splat(constants, 4));
  return f32x4.mul(bits, v128.load32_splat(constants, 8));
}

/**
 * Four scales of q8_0, from words that were widened. They have no sign, and six bits of exponent in place of float16's
 * five: so its denormals, which small weights have, are none, and the processor doesn't slow down.
 */
// @ts-ignore: decorator
@inline
export function fromStored(words: v128, constants: usize): v128 {
  return i32x4.add(i32x4.shl(words, 13), v128.load32_splat(constants));
}

/** The scales of a group's first four rows in a block. @param top where its 256 columns begin */
// @ts-ignore: decorator
@inline
export function low(type: i32, top: usize, block: usize, constants: usize): v128 {
  if (type == Q8_0) return fromStored(v128.load_ext<u16>(block), constants);
  if (type == Q4_0) return fromHalves(v128.load_ext<i16>(block), constants);
  return scaled(v128.load(top), i32x4.extend_low_i16x8_s(v128.load_ext<i8>(block)));
}

/** Those of its last four rows. */
// @ts-ignore: decorator
@inline
export function high(type: i32, top: usize, block: usize, constants: usize): v128 {
  if (type == Q8_0) return fromStored(v128.load_ext<u16>(block, 8), constants);
  if (type == Q4_0) return fromHalves(v128.load_ext<i16>(block, 8), constants);
  return scaled(v128.load(top, 16), i32x4.extend_high_i16x8_s(v128.load_ext<i8>(block)));
}

/** The minimums of q4_K, as `low` and `high`. */
// @ts-ignore: decorator
@inline
export function lowMinimums(top: usize, block: usize): v128 {
  return scaled(v128.load(top, 32), i32x4.extend_low_i16x8_s(v128.load_ext<i8>(block, 8)));
}

// @ts-ignore: decorator
@inline
export function highMinimums(top: usize, block: usize): v128 {
  return scaled(v128.load(top, 48), i32x4.extend_high_i16x8_s(v128.load_ext<i8>(block, 8)));
}

// @ts-ignore: decorator
@inline
function scaled(scales: v128, numbers: v128): v128 {
  return f32x4.mul(scales, f32x4.convert_i32x4_s(numbers));
}

/** A scale of q8_0 in float16 becomes as it is stored. */
export function stored(half: u32): u32 {
  if (half == 0) return half;
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
