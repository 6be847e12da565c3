import { fma } from "./vector";

/** 1.5 · 2^23: adding it to a small number leaves the nearest integer in the lowest bits. */
const ROUND: f32 = 12582912;

/** The constants of `exp`, in memory because V8 rebuilds a constant vector at each use. */
const EXP = memory.data<f32>([
  88.0, -87.3, 1.44269504088896341, ROUND, 2.1219444e-4, -0.693359375,
  1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1, 1.0,
]);

/**
 * e^x in each lane, within 2 ULP: x = n·ln 2 + r, a polynomial in r (Cephes' `expf`), n added to the exponent.
 * NaN stays NaN, so that a diverged loss shows.
 */
// @ts-ignore: decorator
@inline
export function exp(x: v128): v128 {
  x = f32x4.pmax(f32x4.pmin(x, constant(0)), constant(1));
  const bits = fma(x, constant(2), constant(3));
  const n = f32x4.sub(bits, constant(3));
  const r = fma(n, constant(4), fma(n, constant(5), x));
  let y = fma(constant(6), r, constant(7));
  y = fma(y, r, constant(8));
  y = fma(y, r, constant(9));
  y = fma(y, r, constant(10));
  y = fma(y, r, constant(11));
  y = fma(y, f32x4.mul(r, r), f32x4.add(r, constant(12)));
  return f32x4.mul(y, i32x4.add(i32x4.shl(bits, 23), constant(12)));
}

// @ts-ignore: decorator
@inline
function constant(i: usize): v128 {
  return v128.load32_splat(EXP + 4 * i);
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
  return f32x4.div(constant(12), f32x4.add(constant(12), exp(f32x4.neg(x))));
}
