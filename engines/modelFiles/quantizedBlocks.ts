import type { QuantizedType } from "../../protocol/quantizedType.ts";
import { fromFloat16, toFloat16 } from "./float16.ts";

/** Numbers of a block. */
export const BLOCK = 32;
/** Bytes of a block: the scale in float16, then its numbers. */
export const BLOCK_BYTES = { q8_0: 34, q4_0: 18 } as const satisfies Record<QuantizedType, number>;
const SCALE_BYTES = 2;
/** What a number of q4_0 has too much, so that none is negative. */
const OFFSET = 8;

/**
 * Quantizes numbers to GGUF's blocks, the bytes that gguf-py writes: a block's greatest size becomes 127, or −8 in
 * q4_0, and a scale is rounded to float16 only after the numbers.
 * @param data finite; a multiple of 32
 */
export function quantize(type: QuantizedType, data: Float32Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(blocksOf(data.length) * BLOCK_BYTES[type]);
  const scales = new Float32Array(blocksOf(data.length));
  if (type === "q8_0") putQ8(data, new Int8Array(bytes.buffer), scales);
  else putQ4(data, bytes, scales);
  const view = new DataView(bytes.buffer);
  toFloat16(scales).forEach((half, i) => view.setUint16(i * BLOCK_BYTES[type], half, true));
  return bytes;
}

/** The numbers of GGUF's blocks. */
export function dequantize(type: QuantizedType, bytes: Uint8Array): Float32Array<ArrayBuffer> {
  const blocks = bytes.length / BLOCK_BYTES[type];
  const data = new Float32Array(blocks * BLOCK);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const halves = Uint16Array.from({ length: blocks }, (_, i) =>
    view.getUint16(i * BLOCK_BYTES[type], true),
  );
  fromFloat16(halves).forEach((scale, i) => {
    const from = i * BLOCK_BYTES[type] + SCALE_BYTES;
    for (let k = 0; k < BLOCK; k++) {
      const number = type === "q8_0" ? view.getInt8(from + k) : nibble(bytes, from, k) - OFFSET;
      data[i * BLOCK + k] = number * scale;
    }
  });
  return data;
}

function blocksOf(count: number): number {
  if (count % BLOCK !== 0) throw new Error(`${count} numbers are no whole blocks of ${BLOCK}`);
  return count / BLOCK;
}

/**
 * Writes each block's numbers, halves rounded away from 0, and its scale. A sign that is taken from the bits
 * costs nothing; one that is asked for is guessed wrong half the time, which takes four times as long.
 */
function putQ8(data: Float32Array, to: Int8Array, scales: Float32Array): void {
  const bits = new Int32Array(data.buffer, data.byteOffset, data.length);
  let at = SCALE_BYTES;
  for (let i = 0, from = 0; i < scales.length; i++, from += BLOCK, at += BLOCK_BYTES.q8_0) {
    let most = 0;
    for (let k = from; k < from + BLOCK; k++) {
      const size = Math.abs(data[k]!);
      if (size > most) most = size;
    }
    const scale = Math.fround(most / 127);
    const inverse = reciprocal(scale);
    scales[i] = scale;
    for (let k = 0; k < BLOCK; k++) {
      const size = Math.abs(Math.fround(data[from + k]! * inverse));
      // −1 for a negative number.
      const sign = bits[from + k]! >> 31;
      to[at + k] = (Math.trunc(size + 0.5) ^ sign) - sign;
    }
  }
}

/** The same in q4_0, column k and column k + 16 in one byte. */
function putQ4(data: Float32Array, to: Uint8Array, scales: Float32Array): void {
  let at = SCALE_BYTES;
  for (let i = 0, from = 0; i < scales.length; i++, from += BLOCK, at += BLOCK_BYTES.q4_0) {
    let most = data[from]!;
    // The first of several of one size.
    for (let k = from + 1; k < from + BLOCK; k++) {
      if (Math.abs(data[k]!) > Math.abs(most)) most = data[k]!;
    }
    const scale = Math.fround(most / -8);
    const inverse = reciprocal(scale);
    scales[i] = scale;
    for (let k = 0; k < BLOCK; k++) {
      const shifted = Math.fround(Math.fround(data[from + k]! * inverse) + 8.5);
      // Where the scale's inverse is too great for float32, the scale is 0 and the numbers are of no account.
      const number = Number.isFinite(shifted) ? Math.min(15, Math.trunc(shifted)) : 0;
      to[at + (k % 16)]! |= k < 16 ? number : number << 4;
    }
  }
}

function reciprocal(scale: number): number {
  return scale === 0 ? 0 : Math.fround(1 / scale);
}

/** Number k of a block of q4_0. */
function nibble(bytes: Uint8Array, from: number, k: number): number {
  const byte = bytes[from + (k % 16)]!;
  return k < 16 ? byte & 15 : byte >> 4;
}
