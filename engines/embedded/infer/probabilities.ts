import { type SamplingWeights, BUCKETS } from "../../answers/reader.ts";
import type { Arena } from "../kernels/arena.ts";
import type { Kernels } from "../kernels/kernels.ts";

/** The kernel has four lanes, each with a sum for every bucket and one for all lower probabilities. */
const [LANES, LANE_SUMS] = [4, BUCKETS + 1];
export const SUMS = LANES * LANE_SUMS;

/** Addresses that `probabilitiesOf` uses. */
export interface ProbabilitiesPlan {
  /** float64 [SUMS] */
  sums: number;
  /** int32 [vocabulary] */
  tokens: number;
}

export function planProbabilities(
  { reserveWords }: Pick<Arena, "reserveWords">,
  vocabulary: number,
): ProbabilitiesPlan {
  return { sums: reserveWords("work", 2 * SUMS), tokens: reserveWords("work", vocabulary) };
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
  const sums = laneSums.slice(0, LANE_SUMS);
  for (let i = LANE_SUMS; i < SUMS; i++) sums[i % LANE_SUMS]! += laneSums[i]!;
  return {
    byToken: row,
    sums: sums.subarray(0, BUCKETS),
    tokensOf(bucket) {
      const count = tokensOf(bucket, length, byteOffset, plan.tokens);
      return new Int32Array(buffer, plan.tokens, count);
    },
  };
}
