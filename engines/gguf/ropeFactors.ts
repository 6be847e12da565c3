import type { Dimensions } from "../families/dimensions.ts";

/** llama.cpp's divisors of the rotation's frequencies, [headDim / 2]; undefined for none. */
export function ropeFactors({ rope, headDim }: Dimensions): Float32Array<ArrayBuffer> | undefined {
  if (rope.type !== "llama3") return undefined;
  const { theta, factor, lowFreqFactor: low, highFreqFactor: high, originalContext } = rope;
  return Float32Array.from({ length: headDim / 2 }, (_, i) => {
    const turns = originalContext / (2 * Math.PI * theta ** ((2 * i) / headDim));
    if (turns < low) return factor;
    if (turns > high) return 1;
    const share = (turns - low) / (high - low);
    return 1 / ((1 - share) / factor + share);
  });
}
