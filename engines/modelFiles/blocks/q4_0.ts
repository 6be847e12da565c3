import { fromHalf, toHalf } from "../float16.ts";
import type { BlockType } from "./blockType.ts";

/** What a number has too much, so that none is negative. */
const OFFSET = 8;

/** A number has 4 bits, column k and column k + 16 in one byte: the one of greatest size, the first of several, becomes −8. */
export const q4_0: BlockType = {
  ...{ id: 2, block: 32, bytes: 18, scales: [0] },

  put(from, to) {
    let most = from[0]!;
    for (let k = 1; k < from.length; k++) if (Math.abs(from[k]!) > Math.abs(most)) most = from[k]!;
    const scale = Math.fround(most / -OFFSET);
    const inverse = scale === 0 ? 0 : Math.fround(1 / scale);
    to.setUint16(0, toHalf(scale), true);
    const number = (k: number) => {
      const shifted = Math.fround(Math.fround(from[k]! * inverse) + OFFSET + 0.5);
      // Where the scale's inverse is too great for float32, the scale is 0 and the numbers are of no account.
      return Number.isFinite(shifted) ? Math.min(15, Math.trunc(shifted)) : 0;
    };
    for (let k = 0; k < 16; k++) to.setUint8(2 + k, number(k) | (number(k + 16) << 4));
  },

  take(from, to) {
    const scale = fromHalf(from.getUint16(0, true));
    for (let k = 0; k < 16; k++) {
      const byte = from.getUint8(2 + k);
      to[k] = ((byte & 15) - OFFSET) * scale;
      to[k + 16] = ((byte >> 4) - OFFSET) * scale;
    }
  },
};
