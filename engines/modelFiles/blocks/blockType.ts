/** A type of GGUF whose numbers share scales in blocks. */
export interface BlockType {
  /** ggml's number of the type, by which kernels know it, too. */
  id: number;
  /** Numbers of a block; rows are whole blocks. */
  block: number;
  /** Of a block. */
  bytes: number;
  /** Of one in the embedded engine's memory (`embedded/kernels/assembly/quantizedBlock.ts`). */
  placedBytes: number;
  /** Where a block has its scales in float16, in bytes. */
  scales: readonly number[];
  /** Writes finite numbers to a block of zeros. */
  put: (from: Float32Array, to: DataView) => void;
  /** Writes the numbers of a block, which are gguf-py's to the bit. */
  take: (from: DataView, to: Float32Array) => void;
}

/** @param data finite; whole blocks */
export function quantize(type: BlockType, data: Float32Array): Uint8Array<ArrayBuffer> {
  const { block, bytes, put } = type;
  if (data.length % block !== 0) {
    throw new Error(`${data.length} numbers are no whole blocks of ${block}`);
  }
  const blocks = new Uint8Array((data.length / block) * bytes);
  for (let i = 0, at = 0; i < data.length; i += block, at += bytes) {
    put(data.subarray(i, i + block), new DataView(blocks.buffer, at, bytes));
  }
  return blocks;
}

/** The numbers of blocks. */
export function dequantize(type: BlockType, blocks: Uint8Array): Float32Array<ArrayBuffer> {
  const { block, bytes, take } = type;
  const data = new Float32Array((blocks.length / bytes) * block);
  for (let i = 0, at = 0; i < data.length; i += block, at += bytes) {
    take(new DataView(blocks.buffer, blocks.byteOffset + at, bytes), data.subarray(i, i + block));
  }
  return data;
}

/** The exponent of float16, in its upper byte. */
const EXPONENT = 0x7c;

/** Whether float16 had room for all scales. */
export function hasFiniteScales({ bytes, scales }: BlockType, blocks: Uint8Array): boolean {
  for (const scale of scales) {
    for (let at = scale + 1; at < blocks.length; at += bytes) {
      if ((blocks[at]! & EXPONENT) === EXPONENT) return false;
    }
  }
  return true;
}
