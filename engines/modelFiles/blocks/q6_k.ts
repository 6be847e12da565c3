import { fromHalf, toHalf } from "../float16.ts";
import type { BlockType } from "./blockType.ts";

/** Numbers that share a scale, and such parts of a block. */
const PART = 16;
const PARTS = 16;
/** What a number has too much, so that none is negative. */
const OFFSET = 32;
/** Where a block has the upper two bits of its numbers, the scales of its parts and its own. */
const UPPER_AT = 128;
const SCALES_AT = 192;
const SCALE_AT = 208;
/** How far from that of the greatest number a part's scale is looked for, in numbers. */
const SEARCH = [-3, -2.5, -2, -1.5, -1, -0.5, 0, 0.5, 1];

/** A number has 6 bits; it stands for itself times the scale of its part, 8 bits, and that of its block, in float16. */
export const q6_k: BlockType = {
  ...{ id: 14, block: PART * PARTS, bytes: 210, placedBytes: 276, scales: [SCALE_AT] },

  put(from, to) {
    const fits = Array.from({ length: PARTS }, (_, p) =>
      fit(from.subarray(p * PART, (p + 1) * PART)),
    );
    const most = fits.reduce((most, scale) => (Math.abs(scale) > Math.abs(most) ? scale : most));
    to.setUint16(SCALE_AT, toHalf(Math.fround(most / -128)), true);
    const scale = fromHalf(to.getUint16(SCALE_AT, true));
    for (const [p, wanted] of fits.entries()) {
      to.setInt8(SCALES_AT + p, most === 0 ? 0 : Math.min(127, Math.round((wanted / most) * -128)));
    }
    for (let k = 0; k < from.length; k++) {
      const step = scale * to.getInt8(SCALES_AT + (k >> 4));
      const number = (step === 0 ? 0 : nearest(from[k]! / step)) + OFFSET;
      const { at, shift, upperAt, upperShift } = placeOf(k);
      to.setUint8(at, to.getUint8(at) | ((number & 15) << shift));
      to.setUint8(upperAt, to.getUint8(upperAt) | ((number >> 4) << upperShift));
    }
  },

  take(from, to) {
    const scale = fromHalf(from.getUint16(SCALE_AT, true));
    for (let k = 0; k < to.length; k++) {
      const { at, shift, upperAt, upperShift } = placeOf(k);
      const lower = (from.getUint8(at) >> shift) & 15;
      const upper = (from.getUint8(upperAt) >> upperShift) & 3;
      const step = Math.fround(scale * from.getInt8(SCALES_AT + (k >> 4)));
      to[k] = step * (lower + (upper << 4) - OFFSET);
    }
  },
};

/** Where number k has its bits: of 128 columns, column k and column k + 64 share a byte, and four the upper ones. */
function placeOf(k: number) {
  const half = k >> 7;
  return {
    at: half * 64 + (k & 63),
    shift: ((k >> 6) & 1) * 4,
    upperAt: UPPER_AT + half * 32 + (k & 31),
    upperShift: ((k >> 5) & 3) * 2,
  };
}

function nearest(value: number): number {
  const number = Math.trunc(value + OFFSET + 0.5) - OFFSET;
  return number >= OFFSET ? OFFSET - 1 : number < -OFFSET ? -OFFSET : number;
}

/** The scale of the least squared error, in which greater numbers weigh more: for each way to round, the one that fits. */
function fit(x: Float32Array): number {
  let most = 0;
  for (let k = 0; k < PART; k++) if (Math.abs(x[k]!) > Math.abs(most)) most = x[k]!;
  let best = { scale: 0, gain: 0 };
  for (const more of most === 0 ? [] : SEARCH) {
    const inverse = -(OFFSET + more) / most;
    let [wnn, wnx] = [0, 0];
    for (let k = 0; k < PART; k++) {
      const number = x[k]!;
      const n = nearest(number * inverse);
      wnn += number * number * n * n;
      wnx += number * number * n * number;
    }
    const gain = (wnx * wnx) / wnn;
    if (gain > best.gain) best = { scale: wnx / wnn, gain };
  }
  return best.scale;
}
