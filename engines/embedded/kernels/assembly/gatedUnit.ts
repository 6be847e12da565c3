import { begin, claim } from "./thread";
import { expOne, sigmoid } from "./exp";
import { at, LANES } from "./vector";

// y = g · sigmoid(z) · u. SwiGLU has z = g. GeGLU, by GELU's approximation with tanh, has
// z = 2 · √(2/π) · (g + 0.044715 · g³), because (1 + tanh(z/2)) / 2 is sigmoid(z).

const ROWS: i32 = 16;
/** 2 · √(2/π). */
const SLOPE: f32 = 1.5957691216057308;
const CUBIC: f32 = 0.044715;

/**
 * SwiGLU.
 * @param gateUp [rows, 2 · intermediateSize]: g, then u
 * @param y [rows, intermediateSize]
 */
export function swiglu(rows: i32, intermediateSize: i32, gateUp: usize, y: usize): void {
  forward(rows, intermediateSize, gateUp, y, false);
}

/** dGateUp [rows, 2 · intermediateSize] from dy [rows, intermediateSize]. */
export function swigluBack(rows: i32, intermediateSize: i32, gateUp: usize, dy: usize, dGateUp: usize): void {
  backward(rows, intermediateSize, gateUp, dy, dGateUp, false);
}

/** GeGLU, as `swiglu`. */
export function geglu(rows: i32, intermediateSize: i32, gateUp: usize, y: usize): void {
  forward(rows, intermediateSize, gateUp, y, true);
}

/** As `swigluBack`. */
export function gegluBack(rows: i32, intermediateSize: i32, gateUp: usize, dy: usize, dGateUp: usize): void {
  backward(rows, intermediateSize, gateUp, dy, dGateUp, true);
}

// @ts-ignore: decorator
@inline
function forward(rows: i32, size: i32, gateUp: usize, y: usize, isGelu: bool): void {
  const counter = begin();
  for (let r = claim(counter) * ROWS; r < rows; r = claim(counter) * ROWS) {
    for (const end = min(r + ROWS, rows); r < end; r++) {
      const g = at(gateUp, 2 * r * size), u = at(g, size), to = at(y, r * size);
      let i = 0;
      for (; i + LANES <= size; i += LANES) {
        const x = v128.load(at(g, i)), s = sigmoid(isGelu ? cubic(x) : x);
        v128.store(at(to, i), f32x4.mul(f32x4.mul(x, s), v128.load(at(u, i))));
      }
      for (; i < size; i++) {
        const x = load<f32>(at(g, i));
        store<f32>(at(to, i), x / (<f32>1 + expOne(-(isGelu ? cubicOne(x) : x))) * load<f32>(at(u, i)));
      }
    }
  }
}

/** dg = dy · u · s · (1 + g · z' · (1 − s)) with s = sigmoid(z), du = dy · g · s. */
// @ts-ignore: decorator
@inline
function backward(rows: i32, size: i32, gateUp: usize, dy: usize, dGateUp: usize, isGelu: bool): void {
  const counter = begin();
  const one = f32x4.splat(1);
  for (let r = claim(counter) * ROWS; r < rows; r = claim(counter) * ROWS) {
    for (const end = min(r + ROWS, rows); r < end; r++) {
      const g = at(gateUp, 2 * r * size), u = at(g, size), from = at(dy, r * size);
      const dg = at(dGateUp, 2 * r * size), du = at(dg, size);
      let i = 0;
      for (; i + LANES <= size; i += LANES) {
        const x = v128.load(at(g, i)), d = v128.load(at(from, i)), s = sigmoid(isGelu ? cubic(x) : x);
        v128.store(at(du, i), f32x4.mul(d, f32x4.mul(x, s)));
        const rise = isGelu ? f32x4.mul(x, cubicSlope(x)) : x;
        const slope = f32x4.mul(s, f32x4.add(one, f32x4.mul(rise, f32x4.sub(one, s))));
        v128.store(at(dg, i), f32x4.mul(f32x4.mul(d, v128.load(at(u, i))), slope));
      }
      for (; i < size; i++) {
        const x = load<f32>(at(g, i)), d = load<f32>(at(from, i));
        const s = <f32>1 / (<f32>1 + expOne(-(isGelu ? cubicOne(x) : x)));
        const rise: f32 = isGelu ? x * f32x4.extract_lane(cubicSlope(f32x4.splat(x)), 0) : x;
        store<f32>(at(du, i), d * x * s);
        store<f32>(at(dg, i), d * load<f32>(at(u, i)) * s * (<f32>1 + rise * (<f32>1 - s)));
      }
    }
  }
}

/** z of GeGLU. */
// @ts-ignore: decorator
@inline
function cubic(x: v128): v128 {
  const square = f32x4.mul(x, x), one = f32x4.splat(1);
  const inner = f32x4.add(one, f32x4.mul(f32x4.splat(CUBIC), square));
  return f32x4.mul(f32x4.splat(SLOPE), f32x4.mul(x, inner));
}

// @ts-ignore: decorator
@inline
function cubicOne(x: f32): f32 {
  return f32x4.extract_lane(cubic(f32x4.splat(x)), 0);
}

/** z' of GeGLU. */
// @ts-ignore: decorator
@inline
function cubicSlope(x: v128): v128 {
  const square = f32x4.mul(x, x), one = f32x4.splat(1);
  return f32x4.mul(f32x4.splat(SLOPE), f32x4.add(one, f32x4.mul(f32x4.splat(3 * CUBIC), square)));
}
