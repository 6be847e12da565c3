import { begin, claim } from "./thread";
import { at, LANES } from "./vector";

/** Elements a thread claims at a time, and of one partial sum. */
export const SHARE: i32 = 4096;

/** partials[i] (float64) = Σ x² over the i-th 4096 elements of x [count]. */
export function sumOfSquares(count: i32, x: usize, partials: usize): void {
  const counter = begin();
  for (let chunk = claim(counter); chunk * SHARE < count; chunk = claim(counter)) {
    let i = chunk * SHARE;
    const end = min(i + SHARE, count);
    let low = f64x2.splat(0), high = low;
    for (; i + LANES <= end; i += LANES) {
      const v = v128.load(at(x, i));
      const a = f64x2.promote_low_f32x4(v);
      const b = f64x2.promote_low_f32x4(v128.shuffle<f32>(v, v, 2, 3, 2, 3));
      low = f64x2.add(low, f64x2.mul(a, a));
      high = f64x2.add(high, f64x2.mul(b, b));
    }
    low = f64x2.add(low, high);
    let total = f64x2.extract_lane(low, 0) + f64x2.extract_lane(low, 1);
    for (; i < end; i++) total += <f64>load<f32>(at(x, i)) * <f64>load<f32>(at(x, i));
    store<f64>(partials + (<usize>chunk << 3), total);
  }
}

/** Scalars of an AdamW step: `decayFactor` multiplies the weights. */
let scale: f32 = 1, rate: f32 = 0, decayFactor: f32 = 1, inverseBias2: f32 = 1;
let beta1: f32 = 0, beta2: f32 = 0, epsilon: f32 = 0;

/** Sets the scalars of a step. @param gradientScale multiplies the gradients first */
export function setAdamw(
  gradientScale: f32, learningRate: f32, decay: f32, b1: f32, b2: f32, bias1: f32, bias2: f32, e: f32,
): void {
  scale = gradientScale;
  rate = learningRate / bias1;
  decayFactor = <f32>1 - learningRate * decay;
  inverseBias2 = <f32>1 / bias2;
  beta1 = b1;
  beta2 = b2;
  epsilon = e;
}

/**
 * AdamW on `count` elements, with the scalars of `setAdamw`:
 * m = beta1·m + (1 − beta1)·g, v = beta2·v + (1 − beta2)·g², then
 * w −= rate · (m / bias1 / (√(v / bias2) + epsilon) + decay · w).
 */
export function adamw(count: i32, w: usize, g: usize, m: usize, v: usize): void {
  const counter = begin();
  for (let chunk = claim(counter); chunk * SHARE < count; chunk = claim(counter)) {
    const end = min(chunk * SHARE + SHARE, count);
    let i = chunk * SHARE;
    for (; i + LANES <= end; i += LANES) step(at(w, i), at(g, i), at(m, i), at(v, i));
    for (; i < end; i++) stepOne(at(w, i), at(g, i), at(m, i), at(v, i));
  }
}

// @ts-ignore: decorator
@inline
function step(w: usize, g: usize, m: usize, v: usize): void {
  const x = f32x4.mul(v128.load(g), f32x4.splat(scale));
  const x1 = f32x4.mul(x, f32x4.splat(<f32>1 - beta1));
  const x2 = f32x4.mul(f32x4.mul(x, x), f32x4.splat(<f32>1 - beta2));
  const mean = f32x4.add(f32x4.mul(v128.load(m), f32x4.splat(beta1)), x1);
  const square = f32x4.add(f32x4.mul(v128.load(v), f32x4.splat(beta2)), x2);
  v128.store(m, mean);
  v128.store(v, square);
  const spread = f32x4.sqrt(f32x4.mul(square, f32x4.splat(inverseBias2)));
  const move = f32x4.div(f32x4.mul(mean, f32x4.splat(rate)), f32x4.add(spread, f32x4.splat(epsilon)));
  v128.store(w, f32x4.sub(f32x4.mul(v128.load(w), f32x4.splat(decayFactor)), move));
}

// @ts-ignore: decorator
@inline
function stepOne(w: usize, g: usize, m: usize, v: usize): void {
  const x = load<f32>(g) * scale;
  const mean = load<f32>(m) * beta1 + x * (<f32>1 - beta1);
  const square = load<f32>(v) * beta2 + x * x * (<f32>1 - beta2);
  store<f32>(m, mean);
  store<f32>(v, square);
  store<f32>(w, load<f32>(w) * decayFactor - mean * rate / (Mathf.sqrt(square * inverseBias2) + epsilon));
}
