import { begin, claim } from "./thread";
import { at, fma, LANES, loadOne, sum } from "./vector";

/** Rows of W that a thread claims at a time. */
const ROWS: i32 = 64;

/**
 * y [rows] = added + W·x, for W [rows, width], of bfloat16 if `half`: a product for a single token. It takes
 * as long as memory takes to give W, and gives more when it is read in several places at once.
 * @param added [rows], or 0 for none
 */
export function vectorProduct(
  rows: i32, width: i32, w: usize, half: bool, x: usize, added: usize, y: usize,
): void {
  const counter = begin();
  for (let r = claim(counter) * ROWS; r < rows; r = claim(counter) * ROWS) {
    const end = min(r + ROWS, rows), quarter = (end - r) / 4;
    for (let i = r; i < r + quarter; i++) fourRows(i, quarter, width, w, half, x, added, y);
    // At most three, one by one.
    for (let i = r + 4 * quarter; i < end; i++) fourRows(i, 0, width, w, half, x, added, y);
  }
}

/** Four rows of y, so many apart: pages of memory that the processor fetches side by side. With 0, one row. */
function fourRows(
  row: i32, apart: i32, width: i32, w: usize, half: bool, x: usize, added: usize, y: usize,
): void {
  const bytes: usize = half ? 2 : 4, next = <usize>(apart * width) * bytes;
  const zero = f32x4.splat(0), upper = i32x4.splat(0xffff0000);
  let a0 = zero, b0 = zero, c0 = zero, d0 = zero, a1 = zero, b1 = zero, c1 = zero, d1 = zero;
  let a = w + <usize>row * width * bytes, b = a + next, c = b + next, d = c + next, k = 0;
  for (; half && k + 2 * LANES <= width; k += 2 * LANES) {
    // Each word of W has an even and an odd one.
    const p = v128.load(at(x, k)), q = v128.load(at(x, k), 16);
    const even = v128.shuffle<f32>(p, q, 0, 2, 4, 6), odd = v128.shuffle<f32>(p, q, 1, 3, 5, 7);
    let w = v128.load(a); a0 = fma(i32x4.shl(w, 16), even, a0); a1 = fma(v128.and(w, upper), odd, a1); a += 16;
    w = v128.load(b); b0 = fma(i32x4.shl(w, 16), even, b0); b1 = fma(v128.and(w, upper), odd, b1); b += 16;
    w = v128.load(c); c0 = fma(i32x4.shl(w, 16), even, c0); c1 = fma(v128.and(w, upper), odd, c1); c += 16;
    w = v128.load(d); d0 = fma(i32x4.shl(w, 16), even, d0); d1 = fma(v128.and(w, upper), odd, d1); d += 16;
  }
  for (; !half && k + 2 * LANES <= width; k += 2 * LANES) {
    const p = v128.load(at(x, k)), q = v128.load(at(x, k), 16);
    a0 = fma(v128.load(a), p, a0); a1 = fma(v128.load(a, 16), q, a1); a += 32;
    b0 = fma(v128.load(b), p, b0); b1 = fma(v128.load(b, 16), q, b1); b += 32;
    c0 = fma(v128.load(c), p, c0); c1 = fma(v128.load(c, 16), q, c1); c += 32;
    d0 = fma(v128.load(d), p, d0); d1 = fma(v128.load(d, 16), q, d1); d += 32;
  }
  const left = width - k, xs = at(x, k);
  put(row, sum(f32x4.add(a0, a1)) + dot(left, a, half, xs), added, y);
  if (apart == 0) return;
  put(row + apart, sum(f32x4.add(b0, b1)) + dot(left, b, half, xs), added, y);
  put(row + 2 * apart, sum(f32x4.add(c0, c1)) + dot(left, c, half, xs), added, y);
  put(row + 3 * apart, sum(f32x4.add(d0, d1)) + dot(left, d, half, xs), added, y);
}

/** Of the last few numbers. */
function dot(count: i32, w: usize, half: bool, x: usize): f32 {
  let total: f32 = 0;
  for (let i = 0; i < count; i++) {
    total += loadOne(w, half) * load<f32>(at(x, i));
    w += half ? 2 : 4;
  }
  return total;
}

// @ts-ignore: decorator
@inline
function put(row: i32, value: f32, added: usize, y: usize): void {
  store<f32>(at(y, row), added ? value + load<f32>(at(added, row)) : value);
}
