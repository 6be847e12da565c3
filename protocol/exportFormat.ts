/** Block-quantized GGUF types: 8 bits, 4 bits, or a mix of 4 and 6 bits by importance. */
export const QUANTIZED_TYPES = ["q8_0", "q4_0", "q4_k_m"] as const;
export type QuantizedType = (typeof QUANTIZED_TYPES)[number];

export function isQuantizedType(type: string): type is QuantizedType {
  return QUANTIZED_TYPES.some((known) => known === type);
}

/** How `kit export` writes a model. */
export const EXPORT_FORMATS = ["safetensors", "gguf"] as const;

export type ExportFormatName = (typeof EXPORT_FORMATS)[number];

/** Types of numbers in a GGUF file, as `--type` names them. */
export const GGUF_TYPES = ["f16", "bf16", "f32", ...QUANTIZED_TYPES] as const;

export type GgufType = (typeof GGUF_TYPES)[number];
