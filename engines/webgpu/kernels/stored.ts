/** How a matrix is stored. */
export type StoredType = "f32" | "bf16" | "q8_0";

/** Numbers of a q8_0 block. */
export const Q8_BLOCK = 32;

const DECODERS: Record<StoredType, string> = {
  f32: "return w[at];",
  bf16: `
  let pair = w[at / 2u];
  return bitcast<f32>(select(pair << 16u, pair & 0xffff0000u, (at & 1u) == 1u));`,
  q8_0: `
  let number = bitcast<i32>(w[at / 4u] << (24u - 8u * (at & 3u))) >> 24u;
  return f32(number) * bitcast<f32>(w[p.scales + at / ${Q8_BLOCK}u]);`,
};

/**
 * WGSL: element `at` of the matrix `w`. bfloat16 is two numbers to a word; q8_0 four, and from `p.scales` on each
 * block's scale in float32.
 */
export const decoder = (type: StoredType) => `fn decode(at: u32) -> f32 {${DECODERS[type]} }`;

export function wordOf(type: StoredType): "f32" | "u32" {
  return type === "f32" ? "f32" : "u32";
}
