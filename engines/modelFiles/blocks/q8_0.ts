import { fromHalf, toHalf } from "../float16.ts";
import type { BlockType } from "./blockType.ts";

/** A number has 8 bits: a block's greatest size becomes 127. A scale is rounded to float16 only after the numbers. */
export const q8_0: BlockType = {
  ...{ id: 8, block: 32, bytes: 34, placedBytes: 34, scales: [0] },

  /**
   * Halves are rounded away from 0. A sign that is taken from the bits costs nothing; one that is asked for is
   * guessed wrong half the time, which takes four times as long.
   */
  put(from, to) {
    const bits = new Int32Array(from.buffer, from.byteOffset, from.length);
    let most = 0;
    for (let k = 0; k < from.length; k++) {
      const size = Math.abs(from[k]!);
      if (size > most) most = size;
    }
    const scale = Math.fround(most / 127);
    const inverse = scale === 0 ? 0 : Math.fround(1 / scale);
    to.setUint16(0, toHalf(scale), true);
    for (let k = 0; k < from.length; k++) {
      const size = Math.abs(Math.fround(from[k]! * inverse));
      // −1 for a negative number.
      const sign = bits[k]! >> 31;
      to.setInt8(2 + k, (Math.trunc(size + 0.5) ^ sign) - sign);
    }
  },

  take(from, to) {
    const scale = fromHalf(from.getUint16(0, true));
    for (let k = 0; k < to.length; k++) to[k] = from.getInt8(2 + k) * scale;
  },
};
