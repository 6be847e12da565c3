/** A GGUF type with blocks of numbers that share scales. */
export interface BlockType {
  /** ggml's id, also used by the kernels. */
  id: number;
  /** Numbers per block; rows are whole blocks. */
  block: number;
  /** Bytes per block. */
  bytes: number;
  /** Bytes per block in the embedded engine's memory (`embedded/kernels/assembly/quantizedBlock.ts`). */
  packedBytes: number;
  /** Byte offsets of a block's float16 scales. */
  scales: readonly number[];
  /** Encodes finite numbers into a zeroed block. */
  encodeBlock: (from: Float32Array, to: DataView) => void;
  /** Decodes a block, bit-identical to gguf-py. */
  decodeBlock: (from: DataView, to: Float32Array) => void;
}

/** @param data finite numbers, in whole blocks */
export function quantize(type: BlockType, data: Float32Array): Uint8Array<ArrayBuffer> {
  const { block, bytes, encodeBlock } = type;
  if (data.length % block !== 0) {
    throw new Error(`${data.length} numbers are not whole blocks of ${block}`);
  }
  const blocks = new Uint8Array((data.length / block) * bytes);
  for (let i = 0, at = 0; i < data.length; i += block, at += bytes) {
    encodeBlock(data.subarray(i, i + block), new DataView(blocks.buffer, at, bytes));
  }
  return blocks;
}

export function dequantize(type: BlockType, blocks: Uint8Array): Float32Array<ArrayBuffer> {
  const { block, bytes, decodeBlock } = type;
  const data = new Float32Array((blocks.length / bytes) * block);
  for (let i = 0, at = 0; i < data.length; i += block, at += bytes) {
    decodeBlock(
      new DataView(blocks.buffer, blocks.byteOffset + at, bytes),
      data.subarray(i, i + block),
    );
  }
  return data;
}

/** float16's exponent bits in its upper byte. */
const EXPONENT = 0x7c;

/** Whether no scale overflowed float16. */
export function hasFiniteScales({ bytes, scales }: BlockType, blocks: Uint8Array): boolean {
  for (const scale of scales) {
    for (let at = scale + 1; at < blocks.length; at += bytes) {
      if ((blocks[at]! & EXPONENT) === EXPONENT) return false;
    }
  }
  return true;
}
