import { dequantize, quantize } from "../../../../engines/modelFiles/blocks/blockType.ts";
import { BLOCK_TYPES } from "../../../../engines/modelFiles/numberTypes.ts";
import type { QuantizedType } from "../../../../protocol/quantizedType.ts";

export const BLOCK = 32;
/** The greatest number that x becomes. */
const MOST = { q8_0: 8191, q4_0: 127 };
const LEAST_NORMAL = 2 ** -126;

/** A product of x [rows, width] and W [out, width]. */
export interface Shape {
  type: QuantizedType;
  rows: number;
  out: number;
  width: number;
}

/** A weight's block: its numbers, as integers, and its scale. */
function blockOf(type: QuantizedType, weights: Float32Array) {
  const bytes = quantize(BLOCK_TYPES[type], weights);
  // The scale of a block whose numbers are 1.
  const ones = bytes.slice();
  ones.fill(type === "q8_0" ? 1 : 0x99, 2);
  const [scale = NaN] = dequantize(BLOCK_TYPES[type], ones);
  bytes.set([0, 0x3c]);
  return { scale, numbers: dequantize(BLOCK_TYPES[type], bytes) };
}

/** Numbers of x in integers of `most` at most, and their scale. */
function inputOf(type: QuantizedType, x: Float32Array) {
  const greatest = x.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const scale = Math.fround(greatest / MOST[type]);
  const inverse = scale >= LEAST_NORMAL ? Math.fround(1 / scale) : 0;
  return { scale, numbers: x.map((value) => toEven(Math.fround(value * inverse))) };
}

function toEven(value: number): number {
  const below = Math.floor(value);
  const rest = value - below;
  return below + (rest > 0.5 || (rest === 0.5 && below % 2 !== 0) ? 1 : 0);
}

/** x·Wᵀ in a plain loop: integers in a block, float32 from block to block. */
export function plain(
  { type, rows, out, width }: Shape,
  w: Float32Array,
  x: Float32Array,
): Float32Array {
  const y = new Float32Array(rows * out);
  const cut = <T>(array: Float32Array, row: number, of: (part: Float32Array) => T) =>
    Array.from({ length: width / BLOCK }, (_, b) =>
      of(array.subarray(row * width + b * BLOCK, row * width + (b + 1) * BLOCK)),
    );
  const weights = Array.from({ length: out }, (_, j) => cut(w, j, (part) => blockOf(type, part)));
  for (let r = 0; r < rows; r++) {
    const input = cut(x, r, (part) => inputOf(type, part));
    for (let j = 0; j < out; j++) {
      let sum = 0;
      for (const [b, { scale, numbers }] of input.entries()) {
        const block = weights[j]![b]!;
        const product = numbers.reduce((total, value, k) => total + value * block.numbers[k]!, 0);
        const scales = Math.fround(block.scale * scale);
        sum = Math.fround(sum + Math.fround(Math.fround(product) * scales));
      }
      y[r * out + j] = sum;
    }
  }
  return y;
}
