import { fromHalf, toHalf } from "../float16.ts";
import type { BlockType } from "./blockType.ts";

/** Numbers per sub-block, which share a scale and a minimum, and sub-blocks per block. */
const SUB_BLOCK = 32;
const SUB_BLOCKS = 8;
/** The highest 4-bit number, and the highest 6-bit scale or minimum. */
const MAX_NUMBER = 15;
const MAX_SCALE = 63;
/** Byte offset of the numbers. */
const NUMBERS_AT = 16;
/** Offsets to try around the scale implied by a sub-block's range. */
const SEARCH = [-1.2, -0.8, -0.6, -0.4, -0.2, 0, 0.2, 0.4, 0.6];

/**
 * 4-bit numbers; elements k and k + 32 of each 64 share a byte. A value is scale × number − minimum; both have 6 bits
 * for each sub-block, times a float16 super-block scale of their own.
 */
export const q4_k: BlockType = {
  id: 12,
  block: SUB_BLOCK * SUB_BLOCKS,
  bytes: 144,
  packedBytes: 152,
  scales: [0, 2],

  encodeBlock(from, to) {
    const fits = Array.from({ length: SUB_BLOCKS }, (_, p) =>
      fit(from.subarray(p * SUB_BLOCK, (p + 1) * SUB_BLOCK)),
    );
    const [scales, scale] = sixBits(
      to,
      0,
      fits.map((one) => one.scale),
    );
    const [minimums, minimum] = sixBits(
      to,
      2,
      fits.map((one) => one.minimum),
    );
    for (let p = 0; p < 4; p++) {
      const [s, m] = [scales[p + 4]!, minimums[p + 4]!];
      to.setUint8(4 + p, scales[p]! | ((s >> 4) << 6));
      to.setUint8(8 + p, minimums[p]! | ((m >> 4) << 6));
      to.setUint8(12 + p, (s & 15) | ((m & 15) << 4));
    }
    for (let p = 0; p < SUB_BLOCKS; p++) {
      const step = scale * scales[p]!;
      const subtrahend = minimum * minimums[p]!;
      for (let k = 0; k < SUB_BLOCK; k++) {
        const at = NUMBERS_AT + (p >> 1) * SUB_BLOCK + k;
        const number = step === 0 ? 0 : nearest((from[p * SUB_BLOCK + k]! + subtrahend) / step);
        to.setUint8(at, to.getUint8(at) | (number << ((p & 1) * 4)));
      }
    }
  },

  decodeBlock(from, to) {
    const scale = fromHalf(from.getUint16(0, true));
    const minimum = fromHalf(from.getUint16(2, true));
    for (let p = 0; p < SUB_BLOCKS; p++) {
      const step = Math.fround(scale * sixBitsAt(from, 4, p));
      const subtrahend = Math.fround(minimum * sixBitsAt(from, 8, p));
      for (let k = 0; k < SUB_BLOCK; k++) {
        const number = (from.getUint8(NUMBERS_AT + (p >> 1) * SUB_BLOCK + k) >> ((p & 1) * 4)) & 15;
        to[p * SUB_BLOCK + k] = Math.fround(step * number) - subtrahend;
      }
    }
  },
};

/** A sub-block's scale or minimum. @param at byte offset of the first four, which have the upper bits of the others */
function sixBitsAt(from: DataView, at: number, subBlock: number): number {
  if (subBlock < 4) return from.getUint8(at + subBlock) & MAX_SCALE;
  const low = (from.getUint8(8 + subBlock) >> (at === 4 ? 0 : 4)) & 15;
  return low | ((from.getUint8(at + subBlock - 4) >> 6) << 4);
}

/** Quantizes values to 6 bits and writes their float16 super-block scale. */
function sixBits(to: DataView, at: number, values: number[]): [bits: number[], scale: number] {
  const highest = Math.max(...values);
  to.setUint16(at, toHalf(Math.fround(highest / MAX_SCALE)), true);
  const bits = values.map((value) => (highest > 0 ? Math.round((value / highest) * MAX_SCALE) : 0));
  return [bits, fromHalf(to.getUint16(at, true))];
}

/** The nearest 4-bit number; a rounded scale may push a value slightly out of range. */
function nearest(value: number): number {
  const number = Math.trunc(value + 0.5);
  return number > MAX_NUMBER ? MAX_NUMBER : number < 0 ? 0 : number;
}

/**
 * The scale and non-negative minimum with the least squared error, weighted by magnitude: for each candidate rounding,
 * the best fit follows from sums.
 */
function fit(x: Float32Array): { scale: number; minimum: number } {
  let [low, high, sumOfSquares] = [0, 0, 0];
  for (let k = 0; k < SUB_BLOCK; k++) {
    const number = x[k]!;
    if (number < low) low = number;
    if (number > high) high = number;
    sumOfSquares += number * number;
  }
  let best = { scale: 0, minimum: -low, error: Infinity };
  if (low === high) return best;
  const rms = Math.sqrt(sumOfSquares / SUB_BLOCK);
  for (const offset of SEARCH) {
    const inverse = (MAX_NUMBER + offset) / (high - low);
    // Sums of weights, and of weights times n and x.
    let [w, wn, wnn, wx, wnx] = [0, 0, 0, 0, 0];
    for (let k = 0; k < SUB_BLOCK; k++) {
      const number = x[k]!;
      const n = nearest((number - low) * inverse);
      const weight = rms + Math.abs(number);
      w += weight;
      wn += weight * n;
      wnn += weight * n * n;
      wx += weight * number;
      wnx += weight * n * number;
    }
    const determinant = w * wnn - wn * wn;
    let minimum = determinant > 0 ? (wn * wnx - wnn * wx) / determinant : -low;
    if (minimum < 0) minimum = 0;
    const scale = (wnx + minimum * wn) / wnn;
    // Leaves out the constant term, which is the same for all candidates.
    const error =
      scale * scale * wnn +
      minimum * minimum * w +
      2 * (minimum * wx - scale * (minimum * wn + wnx));
    if (error < best.error) best = { scale, minimum, error };
  }
  return best;
}
