import { type BlockType, dequantize, hasFiniteScales, quantize } from "./blocks/blockType.ts";
import { q4_0 } from "./blocks/q4_0.ts";
import { q4_k } from "./blocks/q4_k.ts";
import { q5_0 } from "./blocks/q5_0.ts";
import { q6_k } from "./blocks/q6_k.ts";
import { q8_0 } from "./blocks/q8_0.ts";
import { fromFloat16, toFloat16 } from "./float16.ts";
import { type Numbers, toBfloat16, widened } from "./weights.ts";

/** A data type in model files. */
interface NumberType {
  /** ggml's id. */
  id: number;
  /** Numbers per block; rows are whole blocks. */
  block: number;
  /** Bytes per block. */
  bytes: number;
  /** The bytes of finite numbers; undefined if one overflows. */
  encode: (numbers: Numbers) => Uint8Array | undefined;
  /** The inverse of `encode`: float32 numbers, or for bf16 bfloat16. */
  decode: (bytes: Uint8Array) => Numbers;
}

/** Types with blocks of numbers that share scales. */
export const BLOCK_TYPES = { q8_0, q4_0, q5_0, q4_k, q6_k };

export type BlockTypeName = keyof typeof BLOCK_TYPES;

/** All supported types. Safetensors files have only those without scales. */
export const NUMBER_TYPES = {
  f32: {
    id: 0,
    block: 1,
    bytes: 4,
    encode: (numbers) => bytesOf(widened(numbers)),
    decode: ({ buffer, byteOffset, length }) => new Float32Array(buffer, byteOffset, length / 4),
  },
  f16: {
    id: 1,
    block: 1,
    bytes: 2,
    encode: (numbers) => finiteHalves(toFloat16(widened(numbers)), 0x7c00),
    decode: (bytes) => fromFloat16(halvesIn(bytes)),
  },
  bf16: {
    id: 30,
    block: 1,
    bytes: 2,
    encode: (numbers) =>
      numbers instanceof Float32Array
        ? finiteHalves(toBfloat16(numbers), 0x7f80)
        : bytesOf(numbers),
    decode: halvesIn,
  },
  q8_0: blocksOf(q8_0),
  q4_0: blocksOf(q4_0),
  q5_0: blocksOf(q5_0),
  q4_k: blocksOf(q4_k),
  q6_k: blocksOf(q6_k),
} as const satisfies Record<BlockTypeName, NumberType> & Record<string, NumberType>;

export type NumberTypeName = keyof typeof NUMBER_TYPES;

export function isDtype(type: string): type is NumberTypeName {
  return Object.hasOwn(NUMBER_TYPES, type);
}

export function isBlockType(type: string): type is BlockTypeName {
  return Object.hasOwn(BLOCK_TYPES, type);
}

/** The type with ggml's id. */
export function typeOfId(id: number): NumberTypeName | undefined {
  return Object.keys(NUMBER_TYPES)
    .filter(isDtype)
    .find((type) => NUMBER_TYPES[type].id === id);
}

/** Bytes of `count` numbers, in whole blocks. */
export function dtypeBytes(type: NumberTypeName, count: number): number {
  const { block, bytes } = NUMBER_TYPES[type];
  return (count / block) * bytes;
}

function blocksOf(type: BlockType): NumberType {
  return {
    ...type,
    encode(numbers) {
      const blocks = quantize(type, widened(numbers));
      return hasFiniteScales(type, blocks) ? blocks : undefined;
    },
    decode: (bytes) => dequantize(type, bytes),
  };
}

function halvesIn({ buffer, byteOffset, length }: Uint8Array): Uint16Array {
  return new Uint16Array(buffer, byteOffset, length / 2);
}

/** @param infinite bits of infinity */
function finiteHalves(bits: Uint16Array, infinite: number): Uint8Array | undefined {
  for (let i = 0; i < bits.length; i++) if ((bits[i]! & infinite) === infinite) return undefined;
  return bytesOf(bits);
}

/** Bytes in machine order, which is little-endian like the files. */
export function bytesOf({ buffer, byteOffset, byteLength }: Numbers): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
