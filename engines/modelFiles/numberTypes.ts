import { fromFloat16, toFloat16 } from "./float16.ts";
import { fromBfloat16, toBfloat16 } from "./weights.ts";

/** Bytes of a number of each type that is read. */
export const NUMBER_BYTES = { F32: 4, BF16: 2, F16: 2 };
export type NumberType = keyof typeof NUMBER_BYTES;

type Numbers = Float32Array<ArrayBuffer>;

/** A file's bytes as float32, and back, rounded to the type. */
export const NUMBER_TYPES: Record<
  NumberType,
  {
    decode: (bytes: ArrayBuffer) => Numbers;
    encode: (data: Numbers) => Numbers | Uint16Array<ArrayBuffer>;
  }
> = {
  F32: { decode: (bytes) => new Float32Array(bytes), encode: (data) => data },
  BF16: {
    decode: (bytes) => fromBfloat16(new Uint16Array(bytes)),
    encode: toBfloat16,
  },
  F16: { decode: (bytes) => fromFloat16(new Uint16Array(bytes)), encode: toFloat16 },
};
