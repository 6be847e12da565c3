import { type Masses, GROUPS } from "../../answers/reader.ts";
import type { Arena } from "../kernels/arena.ts";
import type { Kernels } from "../kernels/kernels.ts";

/** The kernel sums each group, and what is below, in four parts. */
const [PARTS, PART] = [4, GROUPS + 1];
export const SUMS = PARTS * PART;

/** Where `massesOf` works. */
export interface MassesPlan {
  /** float64 [SUMS] */
  sums: number;
  /** int32 [vocabulary] */
  tokens: number;
}

export function planMasses({ words }: Pick<Arena, "words">, vocabulary: number): MassesPlan {
  return { sums: words("work", 2 * SUMS), tokens: words("work", vocabulary) };
}

/**
 * e^((logit − greatest) / temperature) of the tokens that may be chosen.
 * @param row of logits; the masses take their place
 * @param bits address of the tokens that may be chosen
 */
export function massesOf(
  { masses, tokensOf }: Kernels,
  plan: MassesPlan,
  row: Float32Array,
  { temperature, bits }: { temperature: number; bits: number },
): Masses {
  const { buffer, byteOffset, length } = row;
  masses(length, byteOffset, temperature, bits, plan.sums);
  const parts = new Float64Array(buffer, plan.sums, SUMS);
  const sums = parts.slice(0, PART);
  for (let i = PART; i < SUMS; i++) sums[i % PART]! += parts[i]!;
  return {
    of: row,
    sums: sums.subarray(0, GROUPS),
    tokensOf(group) {
      const count = tokensOf(group, length, byteOffset, plan.tokens);
      return new Int32Array(buffer, plan.tokens, count);
    },
  };
}
