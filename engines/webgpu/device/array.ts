import type { GpuBuffer } from "./webgpu.ts";

/** An array's purpose, for the error if memory doesn't suffice. */
export type Purpose = "weights" | "gradients" | "moments" | "activations";

/** A planned array of 32-bit words; its buffer is created once all are known. */
export interface DeviceArray {
  purpose: Purpose;
  words: number;
  buffer?: GpuBuffer | undefined;
}

/** A range of an array, in words. */
export interface Slice {
  array: DeviceArray;
  /** A multiple of `SLICE_WORDS`. */
  from: number;
  words: number;
}

/** WebGPU's alignment of bindings, 256 bytes, in words. */
export const SLICE_WORDS = 64;

export const WORD_BYTES = 4;

export function wholeSlice(array: DeviceArray): Slice {
  return { array, from: 0, words: array.words };
}

/** Plans arrays. */
export function createArrays() {
  const arrays: DeviceArray[] = [];
  return {
    arrays,
    add(purpose: Purpose, words: number): DeviceArray {
      const array = { purpose, words: Math.max(1, words) };
      arrays.push(array);
      return array;
    },
    /** Bytes by purpose. */
    sizes(): Record<Purpose, number> {
      const sizes = { weights: 0, gradients: 0, moments: 0, activations: 0 };
      for (const { purpose, words } of arrays) sizes[purpose] += words * WORD_BYTES;
      return sizes;
    },
  };
}

export type Arrays = ReturnType<typeof createArrays>;

export function bufferOf({ buffer }: DeviceArray): GpuBuffer {
  if (buffer) return buffer;
  throw new Error("an array is used before it is allocated");
}
