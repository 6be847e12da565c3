import type { Element } from "../device/kernel.ts";

/** How a matrix is stored. */
export type StoredType = "f32" | "bf16" | "q8_0";

/** Numbers of a q8_0 block. */
export const Q8_BLOCK = 32;

const DECODERS: Record<StoredType, { one: string; four: string }> = {
  f32: { one: "return w[at];", four: "return w[at / 4u];" },
  bf16: {
    one: `
  let pair = w[at / 2u];
  return bitcast<f32>(select(pair << 16u, pair & 0xffff0000u, (at & 1u) == 1u));`,
    four: `
  let pairs = w[at / 4u];
  return bitcast<vec4f>((pairs.xxyy << vec4u(16u, 0u, 16u, 0u)) & vec4u(0xffff0000u));`,
  },
  q8_0: {
    one: `
  let number = bitcast<i32>(w[at / 4u] << (24u - 8u * (at & 3u))) >> 24u;
  return f32(number) * bitcast<f32>(w[p.scales + at / ${Q8_BLOCK}u]);`,
    four: `
  let numbers = bitcast<vec4i>(vec4u(w[at / 4u]) << vec4u(24u, 16u, 8u, 0u)) >> vec4u(24u);
  return vec4f(numbers) * bitcast<f32>(w[p.scales + at / ${Q8_BLOCK}u]);`,
  },
};

/**
 * WGSL: a function that returns element `at` of the matrix `w`, or the four from there on if they are aligned. bfloat16
 * is two numbers to a word; q8_0 four, and from `p.scales` on each block's scale in float32.
 */
export const decoder = (type: StoredType, { name = "decode", isAligned = false } = {}) =>
  isAligned
    ? `fn ${name}(at: u32) -> vec4f {${DECODERS[type].four} }`
    : `fn ${name}(at: u32) -> f32 {${DECODERS[type].one} }`;

const WORDS = { f32: ["f32", "vec4f"], bf16: ["u32", "vec2u"], q8_0: ["u32", "u32"] } as const;

/** The type of the words that have one number, or four if they are aligned. */
export function wordOf(type: StoredType, isAligned = false): Element {
  const [one, four] = WORDS[type];
  return isAligned ? four : one;
}
