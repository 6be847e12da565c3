import { TILE_ROWS } from "./tile";
import { exp, expOne } from "./exp";
import { at, maxLane, LANES, sum } from "./vector";

/** Softmax of `count` numbers in place. */
export function softmax(x: usize, count: i32): void {
  multiply(x, count, <f32>1 / exponentials(x, count, maximum(x, count)));
}

/** x = e^(x − highest), in place. @returns the sum */
export function exponentials(x: usize, count: i32, highest: f32): f32 {
  const shift = f32x4.splat(highest);
  let totals = f32x4.splat(0), i = 0;
  for (; i + LANES <= count; i += LANES) {
    const e = exp(f32x4.sub(v128.load(at(x, i)), shift));
    v128.store(at(x, i), e);
    totals = f32x4.add(totals, e);
  }
  let total = sum(totals);
  for (; i < count; i++) {
    const e = expOne(load<f32>(at(x, i)) - highest);
    store<f32>(at(x, i), e);
    total += e;
  }
  return total;
}

export function maximum(x: usize, count: i32): f32 {
  let highest = f32x4.splat(-Infinity), i = 0;
  for (; i + LANES <= count; i += LANES) highest = f32x4.pmax(highest, v128.load(at(x, i)));
  for (; i < count; i++) highest = f32x4.pmax(highest, v128.load32_splat(at(x, i)));
  return maxLane(highest);
}

export function multiply(x: usize, count: i32, by: f32): void {
  const factor = f32x4.splat(by);
  let i = 0;
  for (; i + LANES <= count; i += LANES) v128.store(at(x, i), f32x4.mul(v128.load(at(x, i)), factor));
  for (; i < count; i++) store<f32>(at(x, i), load<f32>(at(x, i)) * by);
}

/**
 * Causal softmax of a matrix [length, length], rows `row` elements apart: row r has the softmax of its first r + 1
 * elements, or of the last `window` of them, and zeros elsewhere.
 */
export function softmaxCausal(length: i32, x: usize, row: i32, window: i32): void {
  for (let r = 0; r < length; r++) {
    const line = at(x, r * row), hidden = max(0, r + 1 - window);
    memory.fill(line, 0, <usize>hidden << 2);
    softmax(at(line, hidden), r + 1 - hidden);
    clearAfter(line, r, length);
  }
}

/** Clears what a causal product reads beyond the diagonal, up to a tile's rows. */
// @ts-ignore: decorator
@inline
function clearAfter(line: usize, r: i32, length: i32): void {
  const end = min(length, r + TILE_ROWS);
  for (let i = r + 1; i < end; i++) store<f32>(at(line, i), 0);
}

/** dS = P · (dP − Σ dP·P) · scale, causal, overwriting dP; all [length, length], rows `row` elements apart. */
export function softmaxCausalBack(length: i32, p: usize, dp: usize, row: i32, scale: f32): void {
  for (let r = 0; r < length; r++) {
    const prob = at(p, r * row), g = at(dp, r * row), count = r + 1;
    let totals = f32x4.splat(0), i = 0;
    for (; i + LANES <= count; i += LANES) {
      totals = f32x4.add(totals, f32x4.mul(v128.load(at(prob, i)), v128.load(at(g, i))));
    }
    let total = sum(totals);
    for (; i < count; i++) total += load<f32>(at(prob, i)) * load<f32>(at(g, i));
    const mean = f32x4.splat(total), scales = f32x4.splat(scale);
    for (i = 0; i + LANES <= count; i += LANES) {
      const moved = f32x4.sub(v128.load(at(g, i)), mean);
      v128.store(at(g, i), f32x4.mul(f32x4.mul(scales, v128.load(at(prob, i))), moved));
    }
    for (; i < count; i++) {
      store<f32>(at(g, i), scale * load<f32>(at(prob, i)) * (load<f32>(at(g, i)) - total));
    }
    clearAfter(g, r, length);
  }
}
