import { fromHalf, toHalf } from "../float16.ts";
import type { BlockType } from "./blockType.ts";

/** Values per sub-block, which share a scale, and sub-blocks per block. */
const SUB_BLOCK = 16;
const SUB_BLOCKS = 16;
/** Added to quants, so that none is negative. */
const OFFSET = 32;
/** Byte offsets of the quants' high two bits, the sub-blocks' scales and the super-block scale. */
const HIGH_BITS_AT = 128;
const SCALES_AT = 192;
const SCALE_AT = 208;
/** Offsets to try around the scale implied by the sub-block's largest value. */
const SEARCH = [-3, -2.5, -2, -1.5, -1, -0.5, 0, 0.5, 1];

/** 6-bit quants, times an 8-bit scale for each sub-block and a float16 super-block scale. */
export const q6_k: BlockType = {
  id: 14,
  block: SUB_BLOCK * SUB_BLOCKS,
  bytes: 210,
  packedBytes: 276,
  scales: [SCALE_AT],

  encodeBlock(from, to) {
    const fits = Array.from({ length: SUB_BLOCKS }, (_, p) =>
      fit(from.subarray(p * SUB_BLOCK, (p + 1) * SUB_BLOCK)),
    );
    const extreme = fits.reduce((extreme, scale) =>
      Math.abs(scale) > Math.abs(extreme) ? scale : extreme,
    );
    to.setUint16(SCALE_AT, toHalf(Math.fround(extreme / -128)), true);
    const scale = fromHalf(to.getUint16(SCALE_AT, true));
    for (const [p, fitted] of fits.entries()) {
      to.setInt8(
        SCALES_AT + p,
        extreme === 0 ? 0 : Math.min(127, Math.round((fitted / extreme) * -128)),
      );
    }
    for (let k = 0; k < from.length; k++) {
      const step = scale * to.getInt8(SCALES_AT + (k >> 4));
      const quant = (step === 0 ? 0 : nearest(from[k]! / step)) + OFFSET;
      const { at, shift, upperAt, upperShift } = bitsOf(k);
      to.setUint8(at, to.getUint8(at) | ((quant & 15) << shift));
      to.setUint8(upperAt, to.getUint8(upperAt) | ((quant >> 4) << upperShift));
    }
  },

  decodeBlock(from, to) {
    const scale = fromHalf(from.getUint16(SCALE_AT, true));
    for (let k = 0; k < to.length; k++) {
      const { at, shift, upperAt, upperShift } = bitsOf(k);
      const lower = (from.getUint8(at) >> shift) & 15;
      const upper = (from.getUint8(upperAt) >> upperShift) & 3;
      const step = Math.fround(scale * from.getInt8(SCALES_AT + (k >> 4)));
      to[k] = step * (lower + (upper << 4) - OFFSET);
    }
  },
};

/**
 * Where a value's bits are. In each half of 128 values, k and k + 64 share a byte of low bits; k, k + 32,
 * k + 64 and k + 96 share a byte of high bits.
 */
function bitsOf(k: number) {
  const half = k >> 7;
  return {
    at: half * 64 + (k & 63),
    shift: ((k >> 6) & 1) * 4,
    upperAt: HIGH_BITS_AT + half * 32 + (k & 31),
    upperShift: ((k >> 5) & 3) * 2,
  };
}

function nearest(value: number): number {
  const quant = Math.trunc(value + OFFSET + 0.5) - OFFSET;
  return quant >= OFFSET ? OFFSET - 1 : quant < -OFFSET ? -OFFSET : quant;
}

/** The scale with the least squared error, weighted by x²: the best least-squares fit over the candidate roundings. */
function fit(x: Float32Array): number {
  let extreme = 0;
  for (let k = 0; k < SUB_BLOCK; k++) if (Math.abs(x[k]!) > Math.abs(extreme)) extreme = x[k]!;
  let best = { scale: 0, gain: 0 };
  for (const offset of extreme === 0 ? [] : SEARCH) {
    const inverse = -(OFFSET + offset) / extreme;
    let [wnn, wnx] = [0, 0];
    for (let k = 0; k < SUB_BLOCK; k++) {
      const value = x[k]!;
      const quant = nearest(value * inverse);
      wnn += value * value * quant * quant;
      wnx += value * value * quant * value;
    }
    const gain = (wnx * wnx) / wnn;
    if (gain > best.gain) best = { scale: wnx / wnn, gain };
  }
  return best.scale;
}
