import type { Rope } from "./dimensions.ts";

/**
 * Cosines and sines of the rotary angles of `count` positions, each [count, headDim / 2], in Hugging
 * Face's convention: dimension i turns together with i + headDim/2. Rounded to float32 where
 * `transformers` does, because the models were trained so.
 */
export function rotations(rope: Rope, headDim: number, count: number) {
  const half = headDim / 2;
  const frequencies = inverseFrequencies(headDim, rope);
  const cosines = new Float32Array(count * half);
  const sines = new Float32Array(count * half);
  for (let position = 0; position < count; position++) {
    frequencies.forEach((frequency, i) => {
      const angle = Math.fround(position * frequency);
      cosines[position * half + i] = Math.cos(angle);
      sines[position * half + i] = Math.sin(angle);
    });
  }
  return { cosines, sines };
}

/** Radians per position of each pair of dimensions; `modeling_rope_utils.py` of `transformers`. */
function inverseFrequencies(headDim: number, rope: Rope): Float32Array {
  const own = Float32Array.from({ length: headDim / 2 }, (_, i) => {
    const power = Math.fround(rope.theta ** Math.fround((2 * i) / headDim));
    return 1 / power;
  });
  switch (rope.type) {
    case "default":
      return own;
    case "linear":
      return own.map((frequency) => frequency / rope.factor);
    case "llama3":
      return own.map((frequency) => stretched(frequency, rope));
  }
}

/** Long waves are stretched by the factor, short ones are left, those between are blended. */
function stretched(frequency: number, rope: Extract<Rope, { type: "llama3" }>): number {
  const { factor, lowFreqFactor: low, highFreqFactor: high, originalContext } = rope;
  const turns = originalContext / ((2 * Math.PI) / frequency);
  if (turns < low) return frequency / factor;
  if (turns > high) return frequency;
  const share = (turns - low) / (high - low);
  return ((1 - share) * frequency) / factor + share * frequency;
}
