import { begin, claim } from "./thread";
import { at, fma, LANES, sum } from "./vector";

/** Rows a thread claims at a time. */
const ROWS: i32 = 16;
/** Columns a thread claims at a time when summing rows. */
const COLUMNS: i32 = 8;
/** Elements a thread claims at a time. */
const SHARE: i32 = 1024;

/**
 * RMSNorm: y = addend + x · w / √(mean(x²) + epsilon), for x and y [rows, width], w [width].
 * @param rstd [rows]: 1 / √(…), saved for the backward pass
 * @param addend may be y itself, or 0 for none
 */
export function norm(
  rows: i32, width: i32, x: usize, w: usize, y: usize, rstd: usize, epsilon: f32, addend: usize,
): void {
  const counter = begin();
  for (let r = claim(counter) * ROWS; r < rows; r = claim(counter) * ROWS) {
    for (const end = min(r + ROWS, rows); r < end; r++) {
      const o = r * width, plus = addend ? at(addend, o) : 0;
      const scale = normLine(width, at(x, o), w, at(y, o), epsilon, plus);
      store<f32>(at(rstd, r), scale);
    }
  }
}

/** One row of `norm`. x may be y. @returns 1 / √(…) */
// @ts-ignore: decorator
@inline
export function normLine(width: i32, x: usize, w: usize, y: usize, epsilon: f32, addend: usize): f32 {
  const scale: f32 = <f32>1 / Mathf.sqrt(dot(x, x, width) / <f32>width + epsilon);
  const scales = f32x4.splat(scale);
  let i = 0;
  for (; i + LANES <= width; i += LANES) {
    let v = f32x4.mul(f32x4.mul(v128.load(at(x, i)), scales), v128.load(at(w, i)));
    if (addend) v = f32x4.add(v, v128.load(at(addend, i)));
    v128.store(at(y, i), v);
  }
  for (; i < width; i++) {
    const v = load<f32>(at(x, i)) * scale * load<f32>(at(w, i));
    store<f32>(at(y, i), addend ? v + load<f32>(at(addend, i)) : v);
  }
  return scale;
}

/**
 * dx = addend + (dy·w − x · mean(dy·w·x) · rstd²) · rstd, all [rows, width].
 * @param addend may be dx itself, or 0 for none
 */
export function normBack(
  rows: i32, width: i32, x: usize, w: usize, rstd: usize, dy: usize, dx: usize, addend: usize,
): void {
  const counter = begin();
  for (let r = claim(counter) * ROWS; r < rows; r = claim(counter) * ROWS) {
    for (const end = min(r + ROWS, rows); r < end; r++) {
      const o = r * width, scale = load<f32>(at(rstd, r));
      normLineBack(width, at(x, o), w, scale, at(dy, o), at(dx, o), addend ? at(addend, o) : 0);
    }
  }
}

/** One row of `normBack`; dx may be dy. */
// @ts-ignore: decorator
@inline
export function normLineBack(
  width: i32, x: usize, w: usize, scale: f32, dy: usize, dx: usize, addend: usize,
): void {
  const mean = dot3(dy, w, x, width) / <f32>width * scale * scale;
  const scales = f32x4.splat(scale), means = f32x4.splat(mean);
  let i = 0;
  for (; i + LANES <= width; i += LANES) {
    const g = f32x4.mul(v128.load(at(dy, i)), v128.load(at(w, i)));
    let v = f32x4.mul(scales, f32x4.sub(g, f32x4.mul(v128.load(at(x, i)), means)));
    if (addend) v = f32x4.add(v, v128.load(at(addend, i)));
    v128.store(at(dx, i), v);
  }
  for (; i < width; i++) {
    const g = load<f32>(at(dy, i)) * load<f32>(at(w, i));
    const v = scale * (g - load<f32>(at(x, i)) * mean);
    store<f32>(at(dx, i), addend ? v + load<f32>(at(addend, i)) : v);
  }
}

/**
 * dw [width] = addend + Σ over the rows of dy · x · rstd.
 * @param addend [width], or 0 for none
 */
export function normWeightBack(
  rows: i32, width: i32, x: usize, rstd: usize, dy: usize, dw: usize, addend: usize,
): void {
  const counter = begin();
  for (let j = claim(counter) * COLUMNS; j < width; j = claim(counter) * COLUMNS) {
    if (j + COLUMNS > width) {
      for (; j < width; j++) {
        const total = columnSum(rows, width, at(x, j), rstd, at(dy, j));
        store<f32>(at(dw, j), addend ? total + load<f32>(at(addend, j)) : total);
      }
      return;
    }
    const none = f32x4.splat(0);
    let low = addend ? v128.load(at(addend, j)) : none;
    let high = addend ? v128.load(at(addend, j), 16) : none;
    for (let r = 0, o = j; r < rows; r++, o += width) {
      const scale = v128.load32_splat(at(rstd, r)), g = at(dy, o), from = at(x, o);
      low = fma(f32x4.mul(v128.load(g), scale), v128.load(from), low);
      high = fma(f32x4.mul(v128.load(g, 16), scale), v128.load(from, 16), high);
    }
    v128.store(at(dw, j), low);
    v128.store(at(dw, j), high, 16);
  }
}

function columnSum(rows: i32, width: i32, x: usize, rstd: usize, dy: usize): f32 {
  let total: f32 = 0;
  for (let r = 0; r < rows; r++) {
    total += load<f32>(at(dy, r * width)) * load<f32>(at(rstd, r)) * load<f32>(at(x, r * width));
  }
  return total;
}

/** y [width] = 1 + w, for norms whose weight is an offset from 1. */
export function addOne(width: i32, w: usize, y: usize): void {
  const counter = begin();
  for (let j = claim(counter) * SHARE; j < width; j = claim(counter) * SHARE) {
    for (const end = min(j + SHARE, width); j < end; j++) store<f32>(at(y, j), <f32>1 + load<f32>(at(w, j)));
  }
}

/** Σ a · b over `count` elements. */
export function dot(a: usize, b: usize, count: i32): f32 {
  let s = f32x4.splat(0), i = 0;
  for (; i + LANES <= count; i += LANES) s = fma(v128.load(at(a, i)), v128.load(at(b, i)), s);
  let total = sum(s);
  for (; i < count; i++) total += load<f32>(at(a, i)) * load<f32>(at(b, i));
  return total;
}

/** Σ a · b · c. */
function dot3(a: usize, b: usize, c: usize, count: i32): f32 {
  let s = f32x4.splat(0), i = 0;
  for (; i + LANES <= count; i += LANES) {
    s = fma(f32x4.mul(v128.load(at(a, i)), v128.load(at(b, i))), v128.load(at(c, i)), s);
  }
  let total = sum(s);
  for (; i < count; i++) total += load<f32>(at(a, i)) * load<f32>(at(b, i)) * load<f32>(at(c, i));
  return total;
}
