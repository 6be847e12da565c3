import type { GgufType } from "../../protocol/exportFormat.ts";

/** How a type lies in a file. */
interface TensorType {
  /** ggml's number of it. */
  id: number;
  /** Numbers of a block; rows are whole blocks. */
  block: number;
  /** Of a block. */
  bytes: number;
  /** llama.cpp's number of a file that is mostly of it: `general.file_type`. */
  fileType: number;
}

/** The types that Kit writes and reads. */
export const TENSOR_TYPES = {
  f32: { id: 0, block: 1, bytes: 4, fileType: 0 },
  f16: { id: 1, block: 1, bytes: 2, fileType: 1 },
  q4_0: { id: 2, block: 32, bytes: 18, fileType: 2 },
  q8_0: { id: 8, block: 32, bytes: 34, fileType: 7 },
  bf16: { id: 30, block: 1, bytes: 2, fileType: 32 },
} as const satisfies Record<GgufType, TensorType>;

/** @param id ggml's number */
export function typeOfId(id: number): GgufType | undefined {
  return (Object.keys(TENSOR_TYPES) as GgufType[]).find((type) => TENSOR_TYPES[type].id === id);
}

/** Bytes of so many numbers: whole blocks. */
export function typeBytes(type: GgufType, count: number): number {
  const { block, bytes } = TENSOR_TYPES[type];
  return (count / block) * bytes;
}

/** Tensors begin at multiples of this, and so many bytes are a whole file's. */
export const ALIGNMENT = 32;

/** Bytes up to the next multiple. */
export function padding(bytes: number, alignment: number = ALIGNMENT): number {
  return (alignment - (bytes % alignment)) % alignment;
}
