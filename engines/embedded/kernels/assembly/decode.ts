import { begin, claim } from "./thread";
import { at, fma, LANES, loadOne, sum } from "./vector";

/** Rows of W that a thread claims at a time. */
const ROWS: i32 = 64;

/**
 * y [rows] = added + W·x, for W [rows, width], of bfloat16 if `isBf16`: a product for a single token. Memory
 * limits its speed, and delivers more when several places are read at once.
 * @param added [rows], or 0 for none
 */
export function vectorProduct(
  rows: i32, width: i32, w: usize, isBf16: bool, x: usize, added: usize, y: usize,
): void {
  const counter = begin();
  for (let r = claim(counter) * ROWS; r < rows; r = claim(counter) * ROWS) {
    const end = min(r + ROWS, rows), quarter = (end - r) / 4;
    for (let i = r; i < r + quarter; i++) fourRows(i, quarter, width, w, isBf16, x, added, y);
    // At most three, one by one.
    for (let i = r + 4 * quarter; i < end; i++) fourRows(i, 0, width, w, isBf16, x, added, y);
  }
}

/**
 * Computes four rows of y that lie `apart` rows from one another, so that the processor fetches several
 * pages of W at once. If `apart` is 0, computes one row.
 */
function fourRows(
  row: i32, apart: i32, width: i32, w: usize, isBf16: bool, x: usize, added: usize, y: usize,
): void {
  const bytes: usize = isBf16 ? 2 : 4, step = <usize>(2 * LANES) * bytes, next = <usize>(apart * width) * bytes;
  const zero = f32x4.splat(0), upper = i32x4.splat(0xffff0000);
  let a0 = zero, b0 = zero, c0 = zero, d0 = zero, a1 = zero, b1 = zero, c1 = zero, d1 = zero;
  let a = w + <usize>row * width * bytes, b = a + next, c = b + next, d = c + next, k = 0;
  for (; k + 2 * LANES <= width; k += 2 * LANES) {
    const p = v128.load(at(x, k)), q = v128.load(at(x, k), 16), xs = even(p, q), ys = odd(p, q);
    if (isBf16) {
      let v = v128.load(a); a0 = fma(i32x4.shl(v, 16), xs, a0); a1 = fma(v128.and(v, upper), ys, a1);
      v = v128.load(b); b0 = fma(i32x4.shl(v, 16), xs, b0); b1 = fma(v128.and(v, upper), ys, b1);
      v = v128.load(c); c0 = fma(i32x4.shl(v, 16), xs, c0); c1 = fma(v128.and(v, upper), ys, c1);
      v = v128.load(d); d0 = fma(i32x4.shl(v, 16), xs, d0); d1 = fma(v128.and(v, upper), ys, d1);
    } else {
      let v = v128.load(a), w = v128.load(a, 16); a0 = fma(even(v, w), xs, a0); a1 = fma(odd(v, w), ys, a1);
      v = v128.load(b); w = v128.load(b, 16); b0 = fma(even(v, w), xs, b0); b1 = fma(odd(v, w), ys, b1);
      v = v128.load(c); w = v128.load(c, 16); c0 = fma(even(v, w), xs, c0); c1 = fma(odd(v, w), ys, c1);
      v = v128.load(d); w = v128.load(d, 16); d0 = fma(even(v, w), xs, d0); d1 = fma(odd(v, w), ys, d1);
    }
    a += step; b += step; c += step; d += step;
  }
  const left = width - k, end = at(x, k);
  put(row, sum(f32x4.add(a0, a1)) + dot(left, a, isBf16, end), added, y);
  if (apart == 0) return;
  put(row + apart, sum(f32x4.add(b0, b1)) + dot(left, b, isBf16, end), added, y);
  put(row + 2 * apart, sum(f32x4.add(c0, c1)) + dot(left, c, isBf16, end), added, y);
  put(row + 3 * apart, sum(f32x4.add(d0, d1)) + dot(left, d, isBf16, end), added, y);
}

/** A word of bfloat16 holds an even and an odd number. float32 is split alike, so that both add up in one order. */
// @ts-ignore: decorator
@inline
function even(a: v128, b: v128): v128 {
  return v128.shuffle<f32>(a, b, 0, 2, 4, 6);
}

// @ts-ignore: decorator
@inline
function odd(a: v128, b: v128): v128 {
  return v128.shuffle<f32>(a, b, 1, 3, 5, 7);
}

/** The sum over the columns that fill no vector. */
function dot(count: i32, w: usize, isBf16: bool, x: usize): f32 {
  let total: f32 = 0;
  for (let i = 0; i < count; i++) {
    total += loadOne(w, isBf16) * load<f32>(at(x, i));
    w += isBf16 ? 2 : 4;
  }
  return total;
}

// @ts-ignore: decorator
@inline
function put(row: i32, value: f32, added: usize, y: usize): void {
  store<f32>(at(y, row), added ? value + load<f32>(at(added, row)) : value);
}
