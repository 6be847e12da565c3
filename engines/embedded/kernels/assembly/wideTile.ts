import { fma } from "./vector";

/**
 * C[6, 16] = D + alpha · Σ A[:, k] ⊗ B[k, :], bit-identical to `tile`. V8 joins neighbours to 256-bit vectors: 12
 * of sums, two of B and one of A.
 * @param b packed: the 16 elements of each k are contiguous
 */
export function wideTile(
  depth: i32, a: usize, row: usize, step: usize, last: usize, b: usize,
  c: usize, cRow: usize, d: usize, alpha: f32,
): void {
  let a1 = a + min(<usize>1, last) * row, a2 = a + min(<usize>2, last) * row;
  let a3 = a + min(<usize>3, last) * row;
  let a4 = a + min(<usize>4, last) * row, a5 = a + min(<usize>5, last) * row;
  const zero = f32x4.splat(0), end = b + (<usize>depth << 6);
  let x0 = zero, x1 = zero, x2 = zero, x3 = zero, x4 = zero, x5 = zero;
  let y0 = zero, y1 = zero, y2 = zero, y3 = zero, y4 = zero, y5 = zero;
  let z0 = zero, z1 = zero, z2 = zero, z3 = zero, z4 = zero, z5 = zero;
  let w0 = zero, w1 = zero, w2 = zero, w3 = zero, w4 = zero, w5 = zero;
  for (; b < end; b += 64) {
    const x = v128.load(b), y = v128.load(b, 16), z = v128.load(b, 32), w = v128.load(b, 48);
    let s = v128.load32_splat(a); a += step;
    x0 = fma(s, x, x0); y0 = fma(s, y, y0); z0 = fma(s, z, z0); w0 = fma(s, w, w0);
    s = v128.load32_splat(a1); a1 += step;
    x1 = fma(s, x, x1); y1 = fma(s, y, y1); z1 = fma(s, z, z1); w1 = fma(s, w, w1);
    s = v128.load32_splat(a2); a2 += step;
    x2 = fma(s, x, x2); y2 = fma(s, y, y2); z2 = fma(s, z, z2); w2 = fma(s, w, w2);
    s = v128.load32_splat(a3); a3 += step;
    x3 = fma(s, x, x3); y3 = fma(s, y, y3); z3 = fma(s, z, z3); w3 = fma(s, w, w3);
    s = v128.load32_splat(a4); a4 += step;
    x4 = fma(s, x, x4); y4 = fma(s, y, y4); z4 = fma(s, z, z4); w4 = fma(s, w, w4);
    s = v128.load32_splat(a5); a5 += step;
    x5 = fma(s, x, x5); y5 = fma(s, y, y5); z5 = fma(s, z, z5); w5 = fma(s, w, w5);
  }
  const scale = f32x4.splat(alpha), dRow = d ? cRow : 0;
  put(c, d, scale, x0, y0, z0, w0); c += cRow; d += dRow;
  put(c, d, scale, x1, y1, z1, w1); c += cRow; d += dRow;
  put(c, d, scale, x2, y2, z2, w2); c += cRow; d += dRow;
  put(c, d, scale, x3, y3, z3, w3); c += cRow; d += dRow;
  put(c, d, scale, x4, y4, z4, w4); c += cRow; d += dRow;
  put(c, d, scale, x5, y5, z5, w5);
}

// @ts-ignore: decorator
@inline
function put(c: usize, d: usize, scale: v128, x: v128, y: v128, z: v128, w: v128): void {
  x = f32x4.mul(x, scale);
  y = f32x4.mul(y, scale);
  z = f32x4.mul(z, scale);
  w = f32x4.mul(w, scale);
  if (d) {
    x = f32x4.add(x, v128.load(d));
    y = f32x4.add(y, v128.load(d, 16));
    z = f32x4.add(z, v128.load(d, 32));
    w = f32x4.add(w, v128.load(d, 48));
  }
  v128.store(c, x);
  v128.store(c, y, 16);
  v128.store(c, z, 32);
  v128.store(c, w, 48);
}
