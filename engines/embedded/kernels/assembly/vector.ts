// Vectors of four float32 lanes.

// @ts-ignore: decorator
@inline
export const LANES: i32 = 4;

/** a · b + c: fused (rounded once) where relaxed SIMD and the CPU allow, otherwise rounded twice. */
// @ts-ignore: decorator
@inline
export function fma(a: v128, b: v128, c: v128): v128 {
  return ASC_FEATURE_RELAXED_SIMD
    ? f32x4.relaxed_madd(a, b, c)
    : f32x4.add(f32x4.mul(a, b), c);
}

/** The sum of the lanes. */
// @ts-ignore: decorator
@inline
export function sum(a: v128): f32 {
  return (
    f32x4.extract_lane(a, 0) +
    f32x4.extract_lane(a, 1) +
    (f32x4.extract_lane(a, 2) + f32x4.extract_lane(a, 3))
  );
}

/** The highest lane, without a branch: V8 emits several for each `f32.max`. */
// @ts-ignore: decorator
@inline
export function maxLane(a: v128): f32 {
  a = f32x4.pmax(a, v128.shuffle<f32>(a, a, 2, 3, 0, 1));
  return f32x4.extract_lane(f32x4.pmax(a, v128.shuffle<f32>(a, a, 1, 0, 3, 2)), 0);
}

/** Address of element `i` of a float32 array. */
// @ts-ignore: decorator
@inline
export function at(array: usize, i: i32): usize {
  return array + (<usize>i << 2);
}

/** Four elements, widened if they are bfloat16. */
// @ts-ignore: decorator
@inline
export function loadWide(from: usize, isBf16: bool): v128 {
  return isBf16
    ? i32x4.shl(i32x4.extend_low_i16x8_u(v128.load64_zero(from)), 16)
    : v128.load(from);
}

// @ts-ignore: decorator
@inline
export function loadOne(from: usize, isBf16: bool): f32 {
  return isBf16 ? reinterpret<f32>(<u32>load<u16>(from) << 16) : load<f32>(from);
}
