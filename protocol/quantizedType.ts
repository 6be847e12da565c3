/** Types of GGUF files whose numbers share scales in blocks: of 8 bits each, of 4, or of 4 and 6 as they matter. */
export const QUANTIZED_TYPES = ["q8_0", "q4_0", "q4_k_m"] as const;
export type QuantizedType = (typeof QUANTIZED_TYPES)[number];

export function isQuantizedType(type: string): type is QuantizedType {
  return QUANTIZED_TYPES.some((known) => known === type);
}
