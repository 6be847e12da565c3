import { fromHalf, toHalf } from "../float16.ts";
import type { BlockType } from "./blockType.ts";

/** Numbers that share a scale and a minimum, and such parts of a block. */
const PART = 32;
const PARTS = 8;
/** The greatest number, and the greatest scale or minimum, of 6 bits. */
const MAX_NUMBER = 15;
const MAX_SCALE = 63;
const NUMBERS_AT = 16;
/** How far from the range of a part's numbers its scale is looked for, in numbers. */
const SEARCH = [-1.2, -0.8, -0.6, -0.4, -0.2, 0, 0.2, 0.4, 0.6];

/**
 * A number has 4 bits, column k of 64 and column k + 32 in one byte; it stands for scale × number − minimum of its
 * part, which are 6 bits each times the block's scale in float16, and its scale of minimums.
 */
export const q4_k: BlockType = {
  ...{ id: 12, block: PART * PARTS, bytes: 144, placedBytes: 152, scales: [0, 2] },

  put(from, to) {
    const fits = Array.from({ length: PARTS }, (_, p) =>
      fit(from.subarray(p * PART, (p + 1) * PART)),
    );
    const [scales, scale] = sixBits(
      to,
      0,
      fits.map((each) => each.scale),
    );
    const [minimums, minimum] = sixBits(
      to,
      2,
      fits.map((each) => each.minimum),
    );
    for (let p = 0; p < 4; p++) {
      const [s, m] = [scales[p + 4]!, minimums[p + 4]!];
      to.setUint8(4 + p, scales[p]! | ((s >> 4) << 6));
      to.setUint8(8 + p, minimums[p]! | ((m >> 4) << 6));
      to.setUint8(12 + p, (s & 15) | ((m & 15) << 4));
    }
    for (let p = 0; p < PARTS; p++) {
      const step = scale * scales[p]!;
      const less = minimum * minimums[p]!;
      for (let k = 0; k < PART; k++) {
        const at = NUMBERS_AT + (p >> 1) * PART + k;
        const number = step === 0 ? 0 : nearest((from[p * PART + k]! + less) / step);
        to.setUint8(at, to.getUint8(at) | (number << ((p & 1) * 4)));
      }
    }
  },

  take(from, to) {
    const scale = fromHalf(from.getUint16(0, true));
    const minimum = fromHalf(from.getUint16(2, true));
    for (let p = 0; p < PARTS; p++) {
      const step = Math.fround(scale * sixBitsAt(from, 4, p));
      const less = Math.fround(minimum * sixBitsAt(from, 8, p));
      for (let k = 0; k < PART; k++) {
        const number = (from.getUint8(NUMBERS_AT + (p >> 1) * PART + k) >> ((p & 1) * 4)) & 15;
        to[p * PART + k] = Math.fround(step * number) - less;
      }
    }
  },
};

/** The scale or minimum of a part. @param at where those of the first four are, with the upper bits of the others */
function sixBitsAt(from: DataView, at: number, part: number): number {
  if (part < 4) return from.getUint8(at + part) & MAX_SCALE;
  const low = (from.getUint8(8 + part) >> (at === 4 ? 0 : 4)) & 15;
  return low | ((from.getUint8(at + part - 4) >> 6) << 4);
}

/** Values in 6 bits each, and what they are multiplied by, which is written in float16. */
function sixBits(to: DataView, at: number, values: number[]): [bits: number[], scale: number] {
  const most = Math.max(...values);
  to.setUint16(at, toHalf(Math.fround(most / MAX_SCALE)), true);
  const bits = values.map((value) => (most > 0 ? Math.round((value / most) * MAX_SCALE) : 0));
  return [bits, fromHalf(to.getUint16(at, true))];
}

/** The nearest number to a value that is not negative, as a scale's rounding may leave it by a little. */
function nearest(value: number): number {
  const number = Math.trunc(value + 0.5);
  return number > MAX_NUMBER ? MAX_NUMBER : number < 0 ? 0 : number;
}

/**
 * The scale and the minimum, not negative, of the least squared error, in which greater numbers weigh more: for
 * each way to round the numbers, those that fit them best follow from sums.
 */
function fit(x: Float32Array): { scale: number; minimum: number } {
  let [low, high, squares] = [0, 0, 0];
  for (let k = 0; k < PART; k++) {
    const number = x[k]!;
    if (number < low) low = number;
    if (number > high) high = number;
    squares += number * number;
  }
  let best = { scale: 0, minimum: -low, error: Infinity };
  if (low === high) return best;
  const level = Math.sqrt(squares / PART);
  for (const more of SEARCH) {
    const inverse = (MAX_NUMBER + more) / (high - low);
    // Of weights, and of them times numbers n and x.
    let [w, wn, wnn, wx, wnx] = [0, 0, 0, 0, 0];
    for (let k = 0; k < PART; k++) {
      const number = x[k]!;
      const n = nearest((number - low) * inverse);
      const weight = level + Math.abs(number);
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
    // Less what the numbers alone give.
    const error =
      scale * scale * wnn +
      minimum * minimum * w +
      2 * (minimum * wx - scale * (minimum * wn + wnx));
    if (error < best.error) best = { scale, minimum, error };
  }
  return best;
}
