// Four lanes of float32, and what the instruction set lacks.

// @ts-ignore: decorator
@inline
export const LANES: i32 = 4;

/** a · b + c, rounded once with relaxed SIMD and twice without. */
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

/** The greatest of the lanes. */
// @ts-ignore: decorator
@inline
export function greatest(a: v128): f32 {
  return max(
    max(f32x4.extract_lane(a, 0), f32x4.extract_lane(a, 1)),
    max(f32x4.extract_lane(a, 2), f32x4.extract_lane(a, 3)),
  );
}

/** Element `i` of an array of float32. */
// @ts-ignore: decorator
@inline
export function at(array: usize, i: i32): usize {
  return array + (<usize>i << 2);
}

/** Four elements, widened if they are bfloat16. */
// @ts-ignore: decorator
@inline
export function loadWide(from: usize, half: bool): v128 {
  return half
    ? i32x4.shl(i32x4.extend_low_i16x8_u(v128.load64_zero(from)), 16)
    : v128.load(from);
}

// @ts-ignore: decorator
@inline
export function loadOne(from: usize, half: bool): f32 {
  return half ? reinterpret<f32>(<u32>load<u16>(from) << 16) : load<f32>(from);
}

/** 1.5 · 2^23: added to a small number, it leaves that number's nearest integer in the lowest bits. */
// @ts-ignore: decorator
@inline
const ROUND: f32 = 12582912;

/**
 * e^x in each lane, within 2 units in the last place: x = n·ln 2 + r, a polynomial in r
 * (Cephes' `expf`), n put into the exponent. NaN stays NaN, so that a loss which is none shows.
 */
// @ts-ignore: decorator
@inline
export function exp(x: v128): v128 {
  x = f32x4.pmax(f32x4.pmin(x, f32x4.splat(88.0)), f32x4.splat(-87.3));
  const bits = fma(x, f32x4.splat(1.44269504088896341), f32x4.splat(ROUND));
  const n = f32x4.sub(bits, f32x4.splat(ROUND));
  const r = fma(n, f32x4.splat(2.1219444e-4), fma(n, f32x4.splat(-0.693359375), x));
  let y = fma(f32x4.splat(1.9875691500e-4), r, f32x4.splat(1.3981999507e-3));
  y = fma(y, r, f32x4.splat(8.3334519073e-3));
  y = fma(y, r, f32x4.splat(4.1665795894e-2));
  y = fma(y, r, f32x4.splat(1.6666665459e-1));
  y = fma(y, r, f32x4.splat(5.0000001201e-1));
  y = fma(y, f32x4.mul(r, r), f32x4.add(r, f32x4.splat(1)));
  return f32x4.mul(y, i32x4.add(i32x4.shl(bits, 23), i32x4.splat(0x3f800000)));
}

// @ts-ignore: decorator
@inline
export function expOne(x: f32): f32 {
  return f32x4.extract_lane(exp(f32x4.splat(x)), 0);
}

/** 1 / (1 + e^−x) in each lane. */
// @ts-ignore: decorator
@inline
export function sigmoid(x: v128): v128 {
  return f32x4.div(f32x4.splat(1), f32x4.add(f32x4.splat(1), exp(f32x4.neg(x))));
}
