import { begin, claim } from "./thread";
import { at, LANES } from "./vector";

const ROWS: i32 = 16;
/** Columns a thread claims at a time when summing rows. */
const COLUMNS: i32 = 16;

/** y [rows, width] += b [width]; the rows of y are `row` elements apart. */
export function addBias(rows: i32, width: i32, b: usize, y: usize, row: i32): void {
  const counter = begin();
  for (let r = claim(counter) * ROWS; r < rows; r = claim(counter) * ROWS) {
    for (const end = min(r + ROWS, rows); r < end; r++) {
      const to = at(y, r * row);
      let i = 0;
      for (; i + LANES <= width; i += LANES) {
        v128.store(at(to, i), f32x4.add(v128.load(at(to, i)), v128.load(at(b, i))));
      }
      for (; i < width; i++) store<f32>(at(to, i), load<f32>(at(to, i)) + load<f32>(at(b, i)));
    }
  }
}

/**
 * db [width] = addend + Σ over the rows of dy, which are `row` elements apart.
 * @param addend [width], or 0 for none
 */
export function biasBack(rows: i32, width: i32, dy: usize, row: i32, db: usize, addend: usize): void {
  const counter = begin();
  for (let j = claim(counter) * COLUMNS; j < width; j = claim(counter) * COLUMNS) {
    const end = min(j + COLUMNS, width);
    for (; j + LANES <= end; j += LANES) {
      let total = addend ? v128.load(at(addend, j)) : f32x4.splat(0);
      for (let r = 0; r < rows; r++) total = f32x4.add(total, v128.load(at(dy, r * row + j)));
      v128.store(at(db, j), total);
    }
    for (; j < end; j++) {
      let total: f32 = addend ? load<f32>(at(addend, j)) : 0;
      for (let r = 0; r < rows; r++) total += load<f32>(at(dy, r * row + j));
      store<f32>(at(db, j), total);
    }
  }
}
