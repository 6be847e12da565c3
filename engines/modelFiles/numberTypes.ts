import type { GgufType } from "../../protocol/exportFormat.ts";
import { fromFloat16, toFloat16 } from "./float16.ts";
import { BLOCK, BLOCK_BYTES, dequantize, quantize } from "./quantizedBlocks.ts";
import { type Numbers, toBfloat16, widened } from "./weights.ts";

/** How numbers of a type lie in a file. */
interface NumberType {
  /** Numbers of a block; rows are whole blocks. */
  block: number;
  /** Of a block. */
  bytes: number;
  /** ggml's number of the type. */
  id: number;
  /** llama.cpp's number of a file that is mostly of it: `general.file_type`. */
  fileType: number;
}

/** The types that Kit writes and reads; safetensors has those whose blocks are single numbers. */
export const NUMBER_TYPES = {
  f32: { id: 0, block: 1, bytes: 4, fileType: 0 },
  f16: { id: 1, block: 1, bytes: 2, fileType: 1 },
  q4_0: { id: 2, block: BLOCK, bytes: BLOCK_BYTES.q4_0, fileType: 2 },
  q8_0: { id: 8, block: BLOCK, bytes: BLOCK_BYTES.q8_0, fileType: 7 },
  bf16: { id: 30, block: 1, bytes: 2, fileType: 32 },
} as const satisfies Record<GgufType, NumberType>;

export function isNumberType(type: string): type is GgufType {
  return Object.hasOwn(NUMBER_TYPES, type);
}

/** @param id ggml's number */
export function typeOfId(id: number): GgufType | undefined {
  return Object.keys(NUMBER_TYPES)
    .filter(isNumberType)
    .find((type) => NUMBER_TYPES[type].id === id);
}

/** Bytes of so many numbers: whole blocks. */
export function typeBytes(type: GgufType, count: number): number {
  const { block, bytes } = NUMBER_TYPES[type];
  return (count / block) * bytes;
}

/** Infinity in float16, and in bfloat16. */
const INFINITE = { half: 0x7c00, bfloat: 0x7f80 };

/**
 * The bytes of finite numbers in a type.
 * @returns undefined when the type has no room for one of them
 */
export function encodeNumbers(type: GgufType, numbers: Numbers): Uint8Array | undefined {
  switch (type) {
    case "f32":
      return bytesOf(widened(numbers));
    case "f16":
      return halves(toFloat16(widened(numbers)), INFINITE.half);
    case "bf16":
      return numbers instanceof Float32Array
        ? halves(toBfloat16(numbers), INFINITE.bfloat)
        : bytesOf(numbers);
    case "q8_0":
    case "q4_0": {
      const blocks = quantize(type, widened(numbers));
      return hasFiniteScales(type, blocks) ? blocks : undefined;
    }
  }
}

function halves(bits: Uint16Array, infinite: number): Uint8Array | undefined {
  for (let i = 0; i < bits.length; i++) if ((bits[i]! & infinite) === infinite) return undefined;
  return bytesOf(bits);
}

function hasFiniteScales(type: "q8_0" | "q4_0", blocks: Uint8Array): boolean {
  const { bytes } = NUMBER_TYPES[type];
  const top = INFINITE.half >> 8;
  for (let at = 1; at < blocks.length; at += bytes) if ((blocks[at]! & top) === top) return false;
  return true;
}

/** The inverse, in float32; those of bfloat16 stay as they are. */
export function decodeNumbers(type: GgufType, bytes: Uint8Array): Numbers {
  const { buffer, byteOffset, length } = bytes;
  switch (type) {
    case "f32":
      return new Float32Array(buffer, byteOffset, length / 4);
    case "f16":
      return fromFloat16(new Uint16Array(buffer, byteOffset, length / 2));
    case "bf16":
      return new Uint16Array(buffer, byteOffset, length / 2);
    case "q8_0":
    case "q4_0":
      return dequantize(type, bytes);
  }
}

/** In the machine's order, which is the files'. */
export function bytesOf({ buffer, byteOffset, byteLength }: Numbers): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
