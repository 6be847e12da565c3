import { type SamplingWeights, BUCKETS } from "../../answers/reader.ts";
import type { Arena } from "../kernels/arena.ts";
import type { Kernels } from "../kernels/kernels.ts";

/** The kernel sums each bucket, and the rest below, in four lanes. */
const [LANES, LANE] = [4, BUCKETS + 1];
export const SUMS = LANES * LANE;

/** Addresses that `probabilitiesOf` uses. */
export interface ProbabilitiesPlan {
  /** float64 [SUMS] */
  sums: number;
  /** int32 [vocabulary] */
  tokens: number;
}

export function planProbabilities(
  { words }: Pick<Arena, "words">,
  vocabulary: number,
): ProbabilitiesPlan {
  return { sums: words("work", 2 * SUMS), tokens: words("work", vocabulary) };
}

/**
 * Unnormalized probabilities of the allowed tokens: e^((logit − max) / temperature).
 * @param row of logits, which is overwritten
 * @param bits address of the bit mask of allowed tokens
 */
export function probabilitiesOf(
  { expLogits, tokensOf }: Kernels,
  plan: ProbabilitiesPlan,
  row: Float32Array,
  { temperature, bits }: { temperature: number; bits: number },
): SamplingWeights {
  const { buffer, byteOffset, length } = row;
  expLogits(length, byteOffset, temperature, bits, plan.sums);
  const laneSums = new Float64Array(buffer, plan.sums, SUMS);
  const sums = laneSums.slice(0, LANE);
  for (let i = LANE; i < SUMS; i++) sums[i % LANE]! += laneSums[i]!;
  return {
    byToken: row,
    sums: sums.subarray(0, BUCKETS),
    tokensOf(bucket) {
      const count = tokensOf(bucket, length, byteOffset, plan.tokens);
      return new Int32Array(buffer, plan.tokens, count);
    },
  };
}
