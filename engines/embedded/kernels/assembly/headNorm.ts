import { normLine, normLineBack } from "./norm";
import { begin, claim } from "./thread";
import { at } from "./vector";

// RMSNorm of each of `heads` heads, side by side at the start of a row; they share w [headDim].

const ROWS: i32 = 16;
/** Elements of a head that a thread claims at a time when summing rows. */
const COLUMNS: i32 = 8;

/**
 * y = x · w / √(mean(x²) + epsilon) of each head.
 * @param x and y: rows `xRow` and `yRow` elements apart; they may be the same
 * @param rstd [rows, heads]: 1 / √(…), saved for the backward pass
 */
export function headNorm(
  rows: i32, heads: i32, headDim: i32, x: usize, xRow: i32, w: usize, y: usize, yRow: i32,
  rstd: usize, epsilon: f32,
): void {
  const counter = begin();
  for (let r = claim(counter) * ROWS; r < rows; r = claim(counter) * ROWS) {
    for (const end = min(r + ROWS, rows); r < end; r++) {
      for (let h = 0; h < heads; h++) {
        const from = at(x, r * xRow + h * headDim), to = at(y, r * yRow + h * headDim);
        store<f32>(at(rstd, r * heads + h), normLine(headDim, from, w, to, epsilon, 0));
      }
    }
  }
}

/** As `normBack`, with dx overwriting dy. @param dy rows `yRow` elements apart */
export function headNormBack(
  rows: i32, heads: i32, headDim: i32, x: usize, xRow: i32, w: usize, rstd: usize, dy: usize, yRow: i32,
): void {
  const counter = begin();
  for (let r = claim(counter) * ROWS; r < rows; r = claim(counter) * ROWS) {
    for (const end = min(r + ROWS, rows); r < end; r++) {
      for (let h = 0; h < heads; h++) {
        const d = at(dy, r * yRow + h * headDim), scale = load<f32>(at(rstd, r * heads + h));
        normLineBack(headDim, at(x, r * xRow + h * headDim), w, scale, d, d, 0);
      }
    }
  }
}

/**
 * dw [headDim] = addend + Σ over rows and heads of dy · x · rstd.
 * @param addend [headDim], or 0 for none
 */
export function headNormWeightBack(
  rows: i32, heads: i32, headDim: i32, x: usize, xRow: i32, rstd: usize, dy: usize, yRow: i32,
  dw: usize, addend: usize,
): void {
  const counter = begin();
  for (let j = claim(counter) * COLUMNS; j < headDim; j = claim(counter) * COLUMNS) {
    for (const end = min(j + COLUMNS, headDim); j < end; j++) {
      let total: f32 = 0;
      for (let r = 0; r < rows; r++) {
        for (let h = 0, i = j; h < heads; h++, i += headDim) {
          const scale = load<f32>(at(rstd, r * heads + h));
          total += load<f32>(at(dy, r * yRow + i)) * load<f32>(at(x, r * xRow + i)) * scale;
        }
      }
      store<f32>(at(dw, j), addend ? total + load<f32>(at(addend, j)) : total);
    }
  }
}
