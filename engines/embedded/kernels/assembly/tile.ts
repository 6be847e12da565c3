import { fma } from "./vector";

/**
 * Rows of a tile. With a fused multiply-add, 12 vectors of sums, two of B and one of A fill V8's 15 registers;
 * without it a product needs its own, and 4 rows are faster.
 */
export const TILE_ROWS: i32 = ASC_FEATURE_RELAXED_SIMD ? 6 : 4;
export const TILE_COLUMNS: i32 = 8;

/**
 * C[TILE_ROWS, 8] = D + alpha · Σ A[:, k] ⊗ B[k, :] over `depth` values of k, in order.
 * @param a row i begins at a + min(i, last) · row; each k is `step` bytes further
 * @param b packed: the 8 elements of each k are contiguous
 * @param c rows `cRow` bytes apart
 * @param d laid out as C, or 0
 */
export function tile(
  depth: i32, a: usize, row: usize, step: usize, last: usize, b: usize,
  c: usize, cRow: usize, d: usize, alpha: f32,
): void {
  // A mask tells V8 that the upper half of each register is 0, which saves two moves per iteration.
  a &= ~3; b &= ~3;
  let a1 = a + min(<usize>1, last) * row, a2 = a + min(<usize>2, last) * row;
  let a3 = a + min(<usize>3, last) * row;
  let a4 = a + min(<usize>4, last) * row, a5 = a + min(<usize>5, last) * row;
  const zero = f32x4.splat(0), end = b + (<usize>depth << 5);
  let x0 = zero, x1 = zero, x2 = zero, x3 = zero, x4 = zero, x5 = zero;
  let y0 = zero, y1 = zero, y2 = zero, y3 = zero, y4 = zero, y5 = zero;
  for (; b < end; b += 32) {
    const x = v128.load(b), y = v128.load(b, 16);
    let s = v128.load32_splat(a); x0 = fma(s, x, x0); y0 = fma(s, y, y0); a += step;
    s = v128.load32_splat(a1); x1 = fma(s, x, x1); y1 = fma(s, y, y1); a1 += step;
    s = v128.load32_splat(a2); x2 = fma(s, x, x2); y2 = fma(s, y, y2); a2 += step;
    s = v128.load32_splat(a3); x3 = fma(s, x, x3); y3 = fma(s, y, y3); a3 += step;
    if (TILE_ROWS > 4) {
      s = v128.load32_splat(a4); x4 = fma(s, x, x4); y4 = fma(s, y, y4); a4 += step;
      s = v128.load32_splat(a5); x5 = fma(s, x, x5); y5 = fma(s, y, y5); a5 += step;
    }
  }
  const scale = f32x4.splat(alpha), dRow = d ? cRow : 0;
  // Storing the last row first makes V8 interleave the loop's loads and products. In the other order it loads
  // all of A first, which spills registers on Node 22 and takes twice as long.
  if (TILE_ROWS > 4) {
    put(c + 5 * cRow, d + 5 * dRow, scale, x5, y5);
    put(c + 4 * cRow, d + 4 * dRow, scale, x4, y4);
  }
  put(c + 3 * cRow, d + 3 * dRow, scale, x3, y3);
  put(c + 2 * cRow, d + 2 * dRow, scale, x2, y2);
  put(c + cRow, d + dRow, scale, x1, y1);
  put(c, d, scale, x0, y0);
}

// @ts-ignore: decorator
@inline
function put(c: usize, d: usize, scale: v128, x: v128, y: v128): void {
  x = f32x4.mul(x, scale);
  y = f32x4.mul(y, scale);
  if (d) {
    x = f32x4.add(x, v128.load(d));
    y = f32x4.add(y, v128.load(d, 16));
  }
  v128.store(c, x);
  v128.store(c, y, 16);
}
