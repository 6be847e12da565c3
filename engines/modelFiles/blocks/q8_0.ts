import { fromHalf, toHalf } from "../float16.ts";
import type { BlockType } from "./blockType.ts";

/** 8-bit numbers: a block's largest magnitude becomes 127. The scale is rounded to float16 only after it is applied. */
export const q8_0: BlockType = {
  id: 8,
  block: 32,
  bytes: 34,
  packedBytes: 34,
  scales: [0],

  /**
   * Rounds halves away from 0. Takes the sign from the bits, because a branch on it is mispredicted half the time, which
   * takes four times as long.
   */
  encodeBlock(from, to) {
    const bits = new Int32Array(from.buffer, from.byteOffset, from.length);
    let highest = 0;
    for (let k = 0; k < from.length; k++) {
      const magnitude = Math.abs(from[k]!);
      if (magnitude > highest) highest = magnitude;
    }
    const scale = Math.fround(highest / 127);
    const inverse = scale === 0 ? 0 : Math.fround(1 / scale);
    to.setUint16(0, toHalf(scale), true);
    for (let k = 0; k < from.length; k++) {
      const magnitude = Math.abs(Math.fround(from[k]! * inverse));
      // −1 or 0.
      const sign = bits[k]! >> 31;
      to.setInt8(2 + k, (Math.trunc(magnitude + 0.5) ^ sign) - sign);
    }
  },

  decodeBlock(from, to) {
    const scale = fromHalf(from.getUint16(0, true));
    for (let k = 0; k < to.length; k++) to[k] = from.getInt8(2 + k) * scale;
  },
};
