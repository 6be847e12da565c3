import { fma, sum } from "./vector";

/**
 * Multiply-adds on registers alone, in 12 chains that do not depend on one another: what the
 * instruction set allows, for the bench. Answers a number, so that nothing is left out.
 * @param times 12 multiply-adds of 4 lanes each
 */
export function peak(times: i32, x: f32, y: f32): f32 {
  const a = f32x4.splat(x), b = f32x4.splat(y);
  let s0 = a, s1 = b, s2 = a, s3 = b, s4 = a, s5 = b;
  let s6 = a, s7 = b, s8 = a, s9 = b, s10 = a, s11 = b;
  for (let i = 0; i < times; i++) {
    s0 = fma(s0, a, b); s1 = fma(s1, a, b); s2 = fma(s2, a, b); s3 = fma(s3, a, b);
    s4 = fma(s4, a, b); s5 = fma(s5, a, b); s6 = fma(s6, a, b); s7 = fma(s7, a, b);
    s8 = fma(s8, a, b); s9 = fma(s9, a, b); s10 = fma(s10, a, b); s11 = fma(s11, a, b);
  }
  s0 = f32x4.add(f32x4.add(s0, s1), f32x4.add(s2, s3));
  s4 = f32x4.add(f32x4.add(s4, s5), f32x4.add(s6, s7));
  s8 = f32x4.add(f32x4.add(s8, s9), f32x4.add(s10, s11));
  return sum(f32x4.add(s0, f32x4.add(s4, s8)));
}
