// Layout of quantized weights: groups of eight rows, whose blocks of columns follow one another. A group's block has
// the rows' eight scales, then their interleaved numbers, so that a lane is a row:
// q8_0, and q5_0 stored as q8_0: 16 × [8 rows][2 columns] of int8; q6_K: 8 of these;
// q4_0 and q4_K: 4 × [8 rows][4 bytes], byte j of 8 columns with column j in its lower half and column j + 4 in its
// upper half; q4_0 is offset by 8.
// In q4_K and q6_K, each 256 columns (a super-block) begin with 8 float32 super-block scales, and in q4_K 8 more for the
// minimums. A block then has a byte for each row's scale, and in q4_K one for each row's minimum.

/** ggml's type ids. */
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

/** Whether a type has 4-bit numbers. */
// @ts-ignore: decorator
@inline
export function isNibbles(type: i32): bool {
  return type == Q4_0 || type == Q4_K;
}

/** Whether a type has super-blocks of 256 columns, with a one-byte scale for each sub-block. */
// @ts-ignore: decorator
@inline
export function hasSubBlocks(type: i32): bool {
  return type == Q4_K || type == Q6_K;
}

/** Columns that share a scale. */
// @ts-ignore: decorator
@inline
export function columns(type: i32): i32 {
  return type == Q6_K ? 16 : 32;
}

/** Columns of a GGUF block. */
// @ts-ignore: decorator
@inline
export function ggufColumns(type: i32): i32 {
  return hasSubBlocks(type) ? 256 : 32;
}

/** Bytes of a group's super-block scales. */
// @ts-ignore: decorator
@inline
export function headBytes(type: i32): usize {
  return type == Q4_K ? 64 : type == Q6_K ? 32 : 0;
}

/** Bytes of a block's scales, which precede its numbers. */
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

/** Bytes of a group of `width` columns, a multiple of GGUF's blocks. */
// @ts-ignore: decorator
@inline
export function groupBytes(type: i32, width: i32): usize {
  return <usize>(width / columns(type)) * blockBytes(type) + <usize>(width / ggufColumns(type)) * headBytes(type);
}

/** Exponent offsets, from float16 to a stored scale, and from there to float32. */
const FROM_HALF: u32 = 10 << 10;
// @ts-ignore: decorator
@inline
export const TO_FLOAT: u32 = 102 << 23;

/**
 * Four float16 numbers, from sign-extended words.
 * @param constants those of quantizedConstants.ts
 */
// @ts-ignore: decorator
@inline
export function fromHalves(words: v128, constants: usize): v128 {
  const bits = v128.and(i32x4.shl(words, 13), v128.load32_splat(constants, 4));
  return f32x4.mul(bits, v128.load32_splat(constants, 8));
}

/**
 * Four scales of q8_0, from zero-extended words. They have no sign, and six exponent bits instead of five, because
 * float16's denormals, common for small weights, would slow down the processor.
 */
// @ts-ignore: decorator
@inline
export function fromStored(words: v128, constants: usize): v128 {
  return i32x4.add(i32x4.shl(words, 13), v128.load32_splat(constants));
}

/** The scales of a group's first four rows in a block. @param top start of its super-block */
// @ts-ignore: decorator
@inline
export function lowScales(type: i32, top: usize, block: usize, constants: usize): v128 {
  if (type == Q8_0) return fromStored(v128.load_ext<u16>(block), constants);
  if (type == Q4_0) return fromHalves(v128.load_ext<i16>(block), constants);
  return scaled(v128.load(top), i32x4.extend_low_i16x8_s(v128.load_ext<i8>(block)));
}

/** The scales of the group's last four rows. */
// @ts-ignore: decorator
@inline
export function highScales(type: i32, top: usize, block: usize, constants: usize): v128 {
  if (type == Q8_0) return fromStored(v128.load_ext<u16>(block, 8), constants);
  if (type == Q4_0) return fromHalves(v128.load_ext<i16>(block, 8), constants);
  return scaled(v128.load(top, 16), i32x4.extend_high_i16x8_s(v128.load_ext<i8>(block)));
}

/** The minimums of q4_K, as `lowScales` and `highScales`. */
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

/** The stored form of a q8_0 scale in float16. */
export function toStored(half: u32): u32 {
  if (half == 0) return half;
  if (half >= 0x400) return half + FROM_HALF;
  return (reinterpret<u32>(<f32>half * reinterpret<f32>(0x33800000)) - TO_FLOAT) >> 13;
}

/** The nearest float16, ties to even. */
export function toHalf(x: f32): u32 {
  const bits = reinterpret<u32>(x), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
  if (size >= 0x477ff000) return sign | 0x7c00;
  // Adding 1/2, whose ULP is float16's smallest number, rounds to it.
  if (size < 0x38800000) return sign | (reinterpret<u32>(reinterpret<f32>(size) + 0.5) - 0x3f000000);
  return sign | (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13;
}

/** The largest magnitude of the lanes. NaN exceeds all, to stay visible. */
// @ts-ignore: decorator
@inline
export function maxMagnitude(sizes: v128): f32 {
  sizes = i32x4.max_s(sizes, v128.shuffle<i32>(sizes, sizes, 2, 3, 0, 1));
  sizes = i32x4.max_s(sizes, v128.shuffle<i32>(sizes, sizes, 1, 0, 3, 2));
  return f32x4.extract_lane(sizes, 0);
}
