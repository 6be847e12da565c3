import { QUANTIZED_TYPES } from "./quantizedType.ts";

/** How `kit export` writes a model. */
export const EXPORT_FORMATS = ["safetensors", "gguf"] as const;

export type ExportFormatName = (typeof EXPORT_FORMATS)[number];

/** Types of numbers in a GGUF file, as `--type` names them. */
export const GGUF_TYPES = ["f16", "bf16", "f32", ...QUANTIZED_TYPES] as const;

export type GgufType = (typeof GGUF_TYPES)[number];
