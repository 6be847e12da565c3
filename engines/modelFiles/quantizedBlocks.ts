import { fromFloat16, toFloat16 } from "./float16.ts";

/** Types of GGUF whose numbers share a scale in blocks: of 8 bits each, or of 4. */
export type QuantizedType = "q8_0" | "q4_0";

/** Numbers of a block. */
export const BLOCK = 32;
/** Bytes of a block: the scale in float16, then its numbers. */
const BLOCK_BYTES = { q8_0: 34, q4_0: 18 } as const satisfies Record<QuantizedType, number>;
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
  const put = type === "q8_0" ? putQ8 : putQ4;
  for (let i = 0; i < scales.length; i++) {
    const numbers = data.subarray(i * BLOCK, (i + 1) * BLOCK);
    scales[i] = put(numbers, bytes, i * BLOCK_BYTES[type] + SCALE_BYTES);
  }
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

/** Writes a block's numbers, halves rounded away from 0, and returns the scale. */
function putQ8(numbers: Float32Array, bytes: Uint8Array, to: number): number {
  let most = 0;
  for (let k = 0; k < BLOCK; k++) most = Math.max(most, Math.abs(numbers[k]!));
  const scale = Math.fround(most / 127);
  const inverse = reciprocal(scale);
  for (let k = 0; k < BLOCK; k++) {
    const number = Math.fround(numbers[k]! * inverse);
    bytes[to + k] = Math.sign(number) * Math.floor(Math.abs(number) + 0.5);
  }
  return scale;
}

/** The same in q4_0, column k and column k + 16 in one byte. */
function putQ4(numbers: Float32Array, bytes: Uint8Array, to: number): number {
  let most = numbers[0]!;
  // The first of several of one size.
  for (let k = 1; k < BLOCK; k++) if (Math.abs(numbers[k]!) > Math.abs(most)) most = numbers[k]!;
  const scale = Math.fround(most / -8);
  const inverse = reciprocal(scale);
  for (let k = 0; k < BLOCK; k++) {
    const shifted = Math.fround(Math.fround(numbers[k]! * inverse) + 8.5);
    // Where the scale's inverse is too great for float32, the scale is 0 and the numbers are of no account.
    const number = Number.isFinite(shifted) ? Math.min(15, Math.trunc(shifted)) : 0;
    bytes[to + (k % 16)]! |= k < 16 ? number : number << 4;
  }
  return scale;
}

function reciprocal(scale: number): number {
  return scale === 0 ? 0 : Math.fround(1 / scale);
}

/** Number k of a block of q4_0. */
function nibble(bytes: Uint8Array, from: number, k: number): number {
  const byte = bytes[from + (k % 16)]!;
  return k < 16 ? byte & 15 : byte >> 4;
}
