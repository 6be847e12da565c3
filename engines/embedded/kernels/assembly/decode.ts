import { begin, claim } from "./thread";
import { at, fma, LANES, loadOne, loadWide, sum } from "./vector";

/** Rows of W that a thread claims at a time. */
const ROWS: i32 = 32;

/**
 * y [rows] = added + W·x, for W [rows, width], of bfloat16 if `half`: a product for a single token.
 * @param added [rows], or 0 for none
 */
export function vectorProduct(
  rows: i32, width: i32, w: usize, half: bool, x: usize, added: usize, y: usize,
): void {
  const counter = begin();
  const rowBytes = <usize>width << (half ? 1 : 2);
  for (let r = claim(counter) * ROWS; r < rows; r = claim(counter) * ROWS) {
    for (const end = min(r + ROWS, rows); r < end; r++) {
      const value = rowDot(width, w + <usize>r * rowBytes, half, x);
      store<f32>(at(y, r), added ? value + load<f32>(at(added, r)) : value);
    }
  }
}

/** Four sums in turn, so that one addition need not wait for the one before. */
// @ts-ignore: decorator
@inline
function rowDot(width: i32, w: usize, half: bool, x: usize): f32 {
  const zero = f32x4.splat(0), step: usize = half ? 8 : 16;
  let s0 = zero, s1 = zero, s2 = zero, s3 = zero, i = 0;
  for (; i + 4 * LANES <= width; i += 4 * LANES) {
    const from = at(x, i);
    s0 = fma(loadWide(w, half), v128.load(from), s0);
    s1 = fma(loadWide(w + step, half), v128.load(from, 16), s1);
    s2 = fma(loadWide(w + 2 * step, half), v128.load(from, 32), s2);
    s3 = fma(loadWide(w + 3 * step, half), v128.load(from, 48), s3);
    w += 4 * step;
  }
  let total = sum(f32x4.add(f32x4.add(s0, s1), f32x4.add(s2, s3)));
  for (; i < width; i++) {
    total += loadOne(w, half) * load<f32>(at(x, i));
    w += half ? 2 : 4;
  }
  return total;
}
