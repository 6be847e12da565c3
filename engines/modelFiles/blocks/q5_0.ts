import { fromHalf } from "../float16.ts";
import type { BlockType } from "./blockType.ts";
import { quantizeBlock } from "./q4_0.ts";

/** q4_0 with a fifth bit for each number, in one word. */
export const q5_0: BlockType = {
  id: 6,
  block: 32,
  bytes: 22,
  packedBytes: 34,
  scales: [0],

  encodeBlock(from, to) {
    let fifthBits = 0;
    for (const [k, number] of quantizeBlock(from, to, 16).entries()) {
      const at = 6 + (k % 16);
      to.setUint8(at, to.getUint8(at) | ((number & 15) << (k < 16 ? 0 : 4)));
      fifthBits |= (number >> 4) << k;
    }
    to.setInt32(2, fifthBits, true);
  },

  decodeBlock(from, to) {
    const scale = fromHalf(from.getUint16(0, true));
    const fifthBits = from.getInt32(2, true);
    for (let k = 0; k < to.length; k++) {
      const lowBits = (from.getUint8(6 + (k % 16)) >> (k < 16 ? 0 : 4)) & 15;
      to[k] = ((((fifthBits >> k) & 1) << 4) + lowBits - 16) * scale;
    }
  },
};
