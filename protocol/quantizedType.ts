/** Types of GGUF whose numbers share a scale in blocks: of 8 bits each, or of 4. */
export const QUANTIZED_TYPES = ["q8_0", "q4_0"] as const;
export type QuantizedType = (typeof QUANTIZED_TYPES)[number];

export function isQuantizedType(type: string): type is QuantizedType {
  return QUANTIZED_TYPES.some((known) => known === type);
}
