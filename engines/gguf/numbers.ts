import type { GgufType } from "../../protocol/exportFormat.ts";
import { fromFloat16, toFloat16 } from "../modelFiles/float16.ts";
import { dequantize, quantize } from "../modelFiles/quantizedBlocks.ts";
import { toBfloat16 } from "../modelFiles/weights.ts";
import { TENSOR_TYPES } from "./tensorTypes.ts";

/** Infinity in float16, and in bfloat16. */
const INFINITE = { half: 0x7c00, bfloat: 0x7f80 };

/**
 * The bytes of finite numbers in a type.
 * @returns undefined when the type has no room for one of them
 */
export function encodeNumbers(
  type: GgufType,
  numbers: Float32Array<ArrayBuffer>,
): Uint8Array | undefined {
  switch (type) {
    case "f32":
      return new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
    case "f16":
      return halves(toFloat16(numbers), INFINITE.half);
    case "bf16":
      return halves(toBfloat16(numbers), INFINITE.bfloat);
    case "q8_0":
    case "q4_0": {
      const blocks = quantize(type, numbers);
      return hasFiniteScales(type, blocks) ? blocks : undefined;
    }
  }
}

function halves(bits: Uint16Array<ArrayBuffer>, infinite: number): Uint8Array | undefined {
  for (let i = 0; i < bits.length; i++) if ((bits[i]! & infinite) === infinite) return undefined;
  return new Uint8Array(bits.buffer);
}

function hasFiniteScales(type: "q8_0" | "q4_0", blocks: Uint8Array): boolean {
  const { bytes } = TENSOR_TYPES[type];
  const top = INFINITE.half >> 8;
  for (let at = 1; at < blocks.length; at += bytes) if ((blocks[at]! & top) === top) return false;
  return true;
}

/** The inverse, in float32; those of bfloat16 stay as they are. */
export function decodeNumbers(
  type: GgufType,
  bytes: Uint8Array<ArrayBuffer>,
): Float32Array<ArrayBuffer> | Uint16Array<ArrayBuffer> {
  switch (type) {
    case "f32":
      return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
    case "f16":
      return fromFloat16(new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 2));
    case "bf16":
      return new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 2);
    case "q8_0":
    case "q4_0":
      return dequantize(type, bytes);
  }
}
