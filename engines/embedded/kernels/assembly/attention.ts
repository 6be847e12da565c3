import { dot } from "./norm";
import { CAUSAL_A, CAUSAL_AT, CAUSAL_C, ownProduct, setA, setB, setC } from "./product";
import { softmax, softmaxCausal, softmaxCausalBack } from "./softmax";
import { begin, claim } from "./thread";
import { at, fma, LANES } from "./vector";

// A batch has `batch` rows of `length` positions. Queries, keys and values of a position lie in one
// line of `row` elements: q [heads · size], k [kvHeads · size], v [kvHeads · size]. A group of
// heads / kvHeads queries shares a key. A thread claims a whole head of a row.

/**
 * Causal attention: out = softmax(q·kᵀ / √size)·v.
 * @param qkv [batch · length, row]
 * @param shares keeps the softmax [batch · heads, length, length] for the way back
 * @param out [batch · length, heads · size], or 0 where only the shares are wanted
 */
export function attend(
  batch: i32, length: i32, heads: i32, kvHeads: i32, size: i32, row: i32,
  qkv: usize, shares: usize, out: usize,
): void {
  const counter = begin();
  const scale = <f32>1 / Mathf.sqrt(<f32>size), outRow = heads * size;
  for (let job = claim(counter); job < batch * heads; job = claim(counter)) {
    const line = job / heads * length, head = job % heads, shared = head / (heads / kvHeads);
    const q = at(qkv, line * row + head * size);
    const k = at(qkv, line * row + (heads + shared) * size), v = at(k, kvHeads * size);
    const p = at(shares, job * length * length);
    multiply(length, length, size, q, row, 1, k, 1, row, p, length, 0, scale, CAUSAL_C);
    softmaxCausal(length, p);
    if (!out) continue;
    const to = at(out, line * outRow + head * size);
    multiply(length, size, length, p, length, 1, v, row, 1, to, outRow, 0, 1, CAUSAL_A);
  }
}

/**
 * The way back: dqkv from dOut, both as above.
 * @param scratch [threads, length, length]; `thread` counts from 0
 */
export function attendBack(
  batch: i32, length: i32, heads: i32, kvHeads: i32, size: i32, row: i32,
  qkv: usize, shares: usize, dOut: usize, dqkv: usize, scratch: usize,
): void {
  const counter = begin();
  const group = heads / kvHeads;
  for (let job = claim(counter); job < batch * kvHeads; job = claim(counter)) {
    const line = job / kvHeads * length, shared = job % kvHeads;
    for (let g = 0; g < group; g++) {
      const head = shared * group + g;
      const p = at(shares, (job / kvHeads * heads + head) * length * length);
      const dout = at(dOut, line * heads * size + head * size);
      const at0 = line * row, key = (heads + shared) * size;
      headBack(length, size, row, heads * size, at(qkv, at0 + head * size), at(qkv, at0 + key),
        kvHeads * size, p, dout, at(dqkv, at0 + head * size), at(dqkv, at0 + key), scratch, g > 0);
    }
  }
}

/** One head's dq, and its part of dk and dv; v is `next` elements behind k, and dv behind dk. */
function headBack(
  length: i32, size: i32, row: i32, outRow: i32, q: usize, k: usize, next: i32,
  p: usize, dout: usize, dq: usize, dk: usize, ds: usize, adds: bool,
): void {
  const dv = at(dk, next), scale = <f32>1 / Mathf.sqrt(<f32>size);
  multiply(length, size, length, p, 1, length, dout, outRow, 1, dv, row, adds ? dv : 0, 1, CAUSAL_AT);
  multiply(length, length, size, dout, outRow, 1, at(k, next), 1, row, ds, length, 0, 1, CAUSAL_C);
  softmaxCausalBack(length, p, ds, scale);
  multiply(length, size, length, ds, length, 1, k, row, 1, dq, row, 0, 1, CAUSAL_A);
  multiply(length, size, length, ds, 1, length, q, row, 1, dk, row, adds ? dk : 0, 1, CAUSAL_AT);
}

// @ts-ignore: decorator
@inline
function multiply(
  rows: i32, columns: i32, depth: i32, a: usize, aRow: i32, aColumn: i32, b: usize, bRow: i32,
  bColumn: i32, c: usize, cRow: i32, d: usize, alpha: f32, causal: i32,
): void {
  setA(a, aRow, aColumn);
  setB(b, bRow, bColumn, false);
  setC(c, cRow, d, alpha);
  ownProduct(rows, columns, depth, causal);
}

/**
 * Attention of `count` new positions, from `start` on, to all before them.
 * @param q [count, row], rotated
 * @param keys and values [context, kvHeads · size], the new ones among them
 * @param scores scratch [count · heads, context]
 * @param out [count, heads · size]
 */
export function attendCached(
  count: i32, start: i32, heads: i32, kvHeads: i32, size: i32, row: i32, context: i32,
  q: usize, keys: usize, values: usize, scores: usize, out: usize,
): void {
  const counter = begin();
  const scale = <f32>1 / Mathf.sqrt(<f32>size), kvRow = kvHeads * size;
  for (let job = claim(counter); job < count * heads; job = claim(counter)) {
    const i = job / heads, head = job % heads, shared = head / (heads / kvHeads) * size;
    const seen = start + i + 1, p = at(scores, job * context), query = at(q, i * row + head * size);
    for (let j = 0; j < seen; j++) {
      store<f32>(at(p, j), dot(query, at(keys, j * kvRow + shared), size) * scale);
    }
    softmax(p, seen);
    mix(seen, size, p, at(values, shared), kvRow, at(out, job * size));
  }
}

/** out [size] = Σ p[j] · v[j, :]. */
function mix(seen: i32, size: i32, p: usize, v: usize, row: i32, out: usize): void {
  let i = 0;
  for (; i + LANES <= size; i += LANES) {
    let total = f32x4.splat(0);
    for (let j = 0; j < seen; j++) {
      total = fma(v128.load32_splat(at(p, j)), v128.load(at(v, j * row + i)), total);
    }
    v128.store(at(out, i), total);
  }
  for (; i < size; i++) {
    let total: f32 = 0;
    for (let j = 0; j < seen; j++) total += load<f32>(at(p, j)) * load<f32>(at(v, j * row + i));
    store<f32>(at(out, i), total);
  }
}
