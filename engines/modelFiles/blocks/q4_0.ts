import { fromHalf, toHalf } from "../float16.ts";
import type { BlockType } from "./blockType.ts";

/** A number has 4 bits, column k and column k + 16 in one byte. */
export const q4_0: BlockType = {
  ...{ id: 2, block: 32, bytes: 18, placedBytes: 18, scales: [0] },

  put(from, to) {
    const numbers = offsetNumbers(from, to, 8);
    for (let k = 0; k < 16; k++) to.setUint8(2 + k, numbers[k]! | (numbers[k + 16]! << 4));
  },

  take(from, to) {
    const scale = fromHalf(from.getUint16(0, true));
    for (let k = 0; k < 16; k++) {
      const byte = from.getUint8(2 + k);
      to[k] = ((byte & 15) - 8) * scale;
      to[k + 16] = ((byte >> 4) - 8) * scale;
    }
  },
};

/**
 * Writes a block's scale, by which the number of greatest size, the first of several, is −`offset`.
 * @returns the numbers, each so much more that none is negative
 */
export function offsetNumbers(from: Float32Array, to: DataView, offset: number): Float32Array {
  let most = from[0]!;
  for (let k = 1; k < from.length; k++) if (Math.abs(from[k]!) > Math.abs(most)) most = from[k]!;
  const scale = Math.fround(most / -offset);
  const inverse = scale === 0 ? 0 : Math.fround(1 / scale);
  to.setUint16(0, toHalf(scale), true);
  return from.map((number) => {
    const shifted = Math.fround(Math.fround(number * inverse) + offset + 0.5);
    // Where the scale's inverse is too great for float32, the scale is 0 and the numbers are of no account.
    return Number.isFinite(shifted) ? Math.min(2 * offset - 1, Math.trunc(shifted)) : 0;
  });
}
