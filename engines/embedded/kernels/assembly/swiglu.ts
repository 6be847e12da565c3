import { begin, claim } from "./thread";
import { expOne, sigmoid } from "./exp";
import { at, LANES } from "./vector";

const ROWS: i32 = 16;

/**
 * SwiGLU: y = g · sigmoid(g) · u.
 * @param gateUp [rows, 2 · intermediateSize]: g, then u
 * @param y [rows, intermediateSize]
 */
export function swiglu(rows: i32, intermediateSize: i32, gateUp: usize, y: usize): void {
  const counter = begin();
  for (let r = claim(counter) * ROWS; r < rows; r = claim(counter) * ROWS) {
    for (const end = min(r + ROWS, rows); r < end; r++) {
      const g = at(gateUp, 2 * r * intermediateSize), u = at(g, intermediateSize), to = at(y, r * intermediateSize);
      let i = 0;
      for (; i + LANES <= intermediateSize; i += LANES) {
        const x = v128.load(at(g, i));
        v128.store(at(to, i), f32x4.mul(f32x4.mul(x, sigmoid(x)), v128.load(at(u, i))));
      }
      for (; i < intermediateSize; i++) {
        const x = load<f32>(at(g, i));
        store<f32>(at(to, i), x / (<f32>1 + expOne(-x)) * load<f32>(at(u, i)));
      }
    }
  }
}

/** dGateUp [rows, 2 · intermediateSize] from dy [rows, intermediateSize]. */
export function swigluBack(rows: i32, intermediateSize: i32, gateUp: usize, dy: usize, dGateUp: usize): void {
  const counter = begin();
  const one = f32x4.splat(1);
  for (let r = claim(counter) * ROWS; r < rows; r = claim(counter) * ROWS) {
    for (const end = min(r + ROWS, rows); r < end; r++) {
      const g = at(gateUp, 2 * r * intermediateSize), u = at(g, intermediateSize), from = at(dy, r * intermediateSize);
      const dg = at(dGateUp, 2 * r * intermediateSize), du = at(dg, intermediateSize);
      let i = 0;
      for (; i + LANES <= intermediateSize; i += LANES) {
        const x = v128.load(at(g, i)), d = v128.load(at(from, i)), s = sigmoid(x);
        v128.store(at(du, i), f32x4.mul(d, f32x4.mul(x, s)));
        const slope = f32x4.mul(s, f32x4.add(one, f32x4.mul(x, f32x4.sub(one, s))));
        v128.store(at(dg, i), f32x4.mul(f32x4.mul(d, v128.load(at(u, i))), slope));
      }
      for (; i < intermediateSize; i++) {
        const x = load<f32>(at(g, i)), d = load<f32>(at(from, i));
        const s = <f32>1 / (<f32>1 + expOne(-x));
        store<f32>(at(du, i), d * x * s);
        store<f32>(at(dg, i), d * load<f32>(at(u, i)) * s * (<f32>1 + x * (<f32>1 - s)));
      }
    }
  }
}
