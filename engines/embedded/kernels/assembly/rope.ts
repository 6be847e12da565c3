import { begin, claim } from "./thread";
import { at, LANES } from "./vector";

const ROWS: i32 = 16;

/**
 * Applies RoPE in place to `heads` heads at the start of each row, pairing dimension i with i + headDim/2 as Hugging
 * Face does (rope type "neox").
 * @param x [rows, ≥ heads · headDim], rows `row` elements apart
 * @param positions [rows], int32
 * @param cosines and sines [positions, headDim/2]
 * @param sign −1 for the inverse, which is also the gradient
 */
export function rotate(
  rows: i32, heads: i32, headDim: i32, x: usize, row: i32, positions: usize,
  cosines: usize, sines: usize, sign: f32,
): void {
  const counter = begin();
  const half = headDim >> 1;
  for (let r = claim(counter) * ROWS; r < rows; r = claim(counter) * ROWS) {
    for (const end = min(r + ROWS, rows); r < end; r++) {
      const angle = load<i32>(at(positions, r)) * half;
      for (let h = 0; h < heads; h++) {
        rotateHead(half, at(x, r * row + h * headDim), at(cosines, angle), at(sines, angle), sign);
      }
    }
  }
}

// @ts-ignore: decorator
@inline
function rotateHead(half: i32, x: usize, cosine: usize, sine: usize, sign: f32): void {
  const signs = f32x4.splat(sign);
  let i = 0;
  for (; i + LANES <= half; i += LANES) {
    const p = at(x, i), q = at(x, i + half);
    const a = v128.load(p), b = v128.load(q);
    const c = v128.load(at(cosine, i)), s = f32x4.mul(v128.load(at(sine, i)), signs);
    v128.store(p, f32x4.sub(f32x4.mul(a, c), f32x4.mul(b, s)));
    v128.store(q, f32x4.add(f32x4.mul(b, c), f32x4.mul(a, s)));
  }
  for (; i < half; i++) {
    const p = at(x, i), q = at(x, i + half), a = load<f32>(p), b = load<f32>(q);
    const c = load<f32>(at(cosine, i)), s = load<f32>(at(sine, i)) * sign;
    store<f32>(p, a * c - b * s);
    store<f32>(q, b * c + a * s);
  }
}
