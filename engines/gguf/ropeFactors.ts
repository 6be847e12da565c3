import type { Dimensions } from "../families/dimensions.ts";

/** By what llama.cpp divides the frequency of each pair of dimensions, [headDim / 2], if by anything. */
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
