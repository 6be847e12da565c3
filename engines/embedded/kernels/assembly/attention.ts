import { CAUSAL_A, CAUSAL_AT, CAUSAL_C, ownProduct, setA, setB, setC } from "./product";
import { softmaxCausal, softmaxCausalBack } from "./softmax";
import { begin, claim } from "./thread";
import { at, LANES } from "./vector";

// Sequences of any length are packed without padding. A position's queries, keys and values share one row of
// `row` elements: q [heads · headDim], k [kvHeads · headDim], v [kvHeads · headDim]; heads / kvHeads queries share
// a key. A thread claims a whole head of a sequence.

/** Row stride of a sequence's probabilities: its length, rounded up to whole vectors. */
// @ts-ignore: decorator
@inline
function probsRow(length: i32): i32 {
  return (length + LANES - 1) & -LANES;
}

/**
 * Causal attention: out = softmax(scale · q·kᵀ)·v.
 * @param window maximum positions a query attends to, including its own
 * @param offsets [sequences + 1], int32: the first position of each, and the end of the last
 * @param scoreOffsets [sequences], int32: elements of one head's probabilities in the sequences before
 * @param qkv [tokens, row]
 * @param probs each sequence's softmax [heads, length, probsRow(length)], saved for the backward pass
 * @param out [tokens, heads · headDim], or 0 to compute only the probabilities
 */
export function attend(
  sequences: i32, heads: i32, kvHeads: i32, headDim: i32, row: i32, scale: f32, window: i32,
  offsets: usize, scoreOffsets: usize, qkv: usize, probs: usize, out: usize,
): void {
  const counter = begin();
  const outRow = heads * headDim;
  for (let job = claim(counter); job < sequences * heads; job = claim(counter)) {
    const sequence = job / heads, head = job % heads, kvHead = head / (heads / kvHeads);
    const first = load<i32>(at(offsets, sequence)), length = load<i32>(at(offsets, sequence + 1)) - first;
    const pRow = probsRow(length), scoresBefore = load<i32>(at(scoreOffsets, sequence));
    const p = at(probs, scoresBefore * heads + head * length * pRow);
    const q = at(qkv, first * row + head * headDim);
    const k = at(qkv, first * row + (heads + kvHead) * headDim), v = at(k, kvHeads * headDim);
    multiply(length, length, headDim, q, row, 1, k, 1, row, p, pRow, 0, scale, CAUSAL_C);
    softmaxCausal(length, p, pRow, window);
    if (!out) continue;
    const to = at(out, first * outRow + head * headDim);
    multiply(length, headDim, length, p, pRow, 1, v, row, 1, to, outRow, 0, 1, CAUSAL_A);
  }
}

/**
 * The backward pass: dqkv from dOut, both as above.
 * @param scratch this thread's own [length, probsRow(length)] for the longest sequence
 */
export function attendBack(
  sequences: i32, heads: i32, kvHeads: i32, headDim: i32, row: i32, scale: f32, window: i32,
  offsets: usize, scoreOffsets: usize, qkv: usize, probs: usize, dOut: usize, dqkv: usize, scratch: usize,
): void {
  const counter = begin();
  const group = heads / kvHeads, outRow = heads * headDim;
  for (let job = claim(counter); job < sequences * kvHeads; job = claim(counter)) {
    const sequence = job / kvHeads, kvHead = job % kvHeads;
    const first = load<i32>(at(offsets, sequence)), length = load<i32>(at(offsets, sequence + 1)) - first;
    const scoresBefore = load<i32>(at(scoreOffsets, sequence)), from = first * row;
    for (let g = 0; g < group; g++) {
      const head = kvHead * group + g, key = (heads + kvHead) * headDim;
      const p = at(probs, scoresBefore * heads + head * length * probsRow(length));
      const dout = at(dOut, first * outRow + head * headDim);
      headBack(length, headDim, row, outRow, scale, at(qkv, from + head * headDim), at(qkv, from + key),
        kvHeads * headDim, p, dout, at(dqkv, from + head * headDim), at(dqkv, from + key), scratch, g > 0);
    }
  }
}

/** One head's dq, and its part of dk and dv; v is `next` elements after k, as dv is after dk. */
function headBack(
  length: i32, headDim: i32, row: i32, outRow: i32, scale: f32, q: usize, k: usize, next: i32,
  p: usize, dout: usize, dq: usize, dk: usize, ds: usize, accumulate: bool,
): void {
  const dv = at(dk, next), pRow = probsRow(length);
  multiply(length, headDim, length, p, 1, pRow, dout, outRow, 1, dv, row, accumulate ? dv : 0, 1, CAUSAL_AT);
  multiply(length, length, headDim, dout, outRow, 1, at(k, next), 1, row, ds, pRow, 0, 1, CAUSAL_C);
  softmaxCausalBack(length, p, ds, pRow, scale);
  multiply(length, headDim, length, ds, pRow, 1, k, row, 1, dq, row, 0, 1, CAUSAL_A);
  multiply(length, headDim, length, ds, 1, pRow, q, row, 1, dk, row, accumulate ? dk : 0, 1, CAUSAL_AT);
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
