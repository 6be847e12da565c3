import { begin, claim } from "./thread";
import { at, fma, LANES, loadOne, loadWide, sum } from "./vector";

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
  const bytes: usize = half ? 2 : 4, step = <usize>LANES * bytes, next = <usize>(apart * width) * bytes;
  const zero = f32x4.splat(0);
  let a0 = zero, b0 = zero, c0 = zero, d0 = zero, a1 = zero, b1 = zero, c1 = zero, d1 = zero;
  let a = w + <usize>row * width * bytes, b = a + next, c = b + next, d = c + next, k = 0;
  for (; k + 2 * LANES <= width; k += 2 * LANES) {
    const x0 = v128.load(at(x, k)), x1 = v128.load(at(x, k), 16);
    a0 = fma(loadWide(a, half), x0, a0); a1 = fma(loadWide(a + step, half), x1, a1); a += 2 * step;
    b0 = fma(loadWide(b, half), x0, b0); b1 = fma(loadWide(b + step, half), x1, b1); b += 2 * step;
    c0 = fma(loadWide(c, half), x0, c0); c1 = fma(loadWide(c + step, half), x1, c1); c += 2 * step;
    d0 = fma(loadWide(d, half), x0, d0); d1 = fma(loadWide(d + step, half), x1, d1); d += 2 * step;
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
