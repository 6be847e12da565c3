import { fma, sum } from "../../engines/embedded/kernels/assembly/vector";

/**
 * Multiply-adds on registers alone, in 12 chains that do not depend on one another: what the
 * instruction set allows. Answers a number, so that nothing is left out.
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

/** The same on pairs that become vectors of 256 bits. V8 joins only what is stored side by side. */
export function widePeak(times: i32, x: f32, y: f32, to: usize): void {
  const a = f32x4.splat(x), b = f32x4.splat(y);
  let s0 = a, s1 = a, s2 = b, s3 = b, s4 = a, s5 = a, s6 = b, s7 = b, s8 = a, s9 = a, s10 = b, s11 = b;
  let s12 = a, s13 = a, s14 = b, s15 = b, s16 = a, s17 = a, s18 = b, s19 = b, s20 = a, s21 = a, s22 = b, s23 = b;
  for (let i = 0; i < times; i++) {
    s0 = fma(s0, a, b); s1 = fma(s1, a, b); s2 = fma(s2, a, b); s3 = fma(s3, a, b);
    s4 = fma(s4, a, b); s5 = fma(s5, a, b); s6 = fma(s6, a, b); s7 = fma(s7, a, b);
    s8 = fma(s8, a, b); s9 = fma(s9, a, b); s10 = fma(s10, a, b); s11 = fma(s11, a, b);
    s12 = fma(s12, a, b); s13 = fma(s13, a, b); s14 = fma(s14, a, b); s15 = fma(s15, a, b);
    s16 = fma(s16, a, b); s17 = fma(s17, a, b); s18 = fma(s18, a, b); s19 = fma(s19, a, b);
    s20 = fma(s20, a, b); s21 = fma(s21, a, b); s22 = fma(s22, a, b); s23 = fma(s23, a, b);
  }
  v128.store(to, s0); v128.store(to, s1, 16);
  v128.store(to, s2, 32); v128.store(to, s3, 48);
  v128.store(to, s4, 64); v128.store(to, s5, 80);
  v128.store(to, s6, 96); v128.store(to, s7, 112);
  v128.store(to, s8, 128); v128.store(to, s9, 144);
  v128.store(to, s10, 160); v128.store(to, s11, 176);
  v128.store(to, s12, 192); v128.store(to, s13, 208);
  v128.store(to, s14, 224); v128.store(to, s15, 240);
  v128.store(to, s16, 256); v128.store(to, s17, 272);
  v128.store(to, s18, 288); v128.store(to, s19, 304);
  v128.store(to, s20, 320); v128.store(to, s21, 336);
  v128.store(to, s22, 352); v128.store(to, s23, 368);
}
