import { fromHalf, toHalf } from "../float16.ts";
import type { BlockType } from "./blockType.ts";

/** 4-bit numbers; elements k and k + 16 share a byte. */
export const q4_0: BlockType = {
  id: 2,
  block: 32,
  bytes: 18,
  packedBytes: 18,
  scales: [0],

  encodeBlock(from, to) {
    const numbers = quantizeBlock(from, to, 8);
    for (let k = 0; k < 16; k++) to.setUint8(2 + k, numbers[k]! | (numbers[k + 16]! << 4));
  },

  decodeBlock(from, to) {
    const scale = fromHalf(from.getUint16(0, true));
    for (let k = 0; k < 16; k++) {
      const byte = from.getUint8(2 + k);
      to[k] = ((byte & 15) - 8) * scale;
      to[k + 16] = ((byte >> 4) - 8) * scale;
    }
  },
};

/**
 * Picks and writes a block's scale, which maps the number of the largest magnitude (the first, if several) to
 * −`offset`, and quantizes the block.
 * @returns the quantized numbers, plus `offset`
 */
export function quantizeBlock(from: Float32Array, to: DataView, offset: number): Float32Array {
  let extreme = from[0]!;
  for (let k = 1; k < from.length; k++)
    if (Math.abs(from[k]!) > Math.abs(extreme)) extreme = from[k]!;
  const scale = Math.fround(extreme / -offset);
  const inverse = scale === 0 ? 0 : Math.fround(1 / scale);
  to.setUint16(0, toHalf(scale), true);
  return from.map((number) => {
    const shifted = Math.fround(Math.fround(number * inverse) + offset + 0.5);
    // If the scale's inverse overflows float32, the scale rounds to 0 and the numbers don't matter.
    return Number.isFinite(shifted) ? Math.min(2 * offset - 1, Math.trunc(shifted)) : 0;
  });
}
