import type { Random } from "../dataset/random.ts";
import { type Masses, type NextToken, GROUPS } from "./reader.ts";

export interface Sampling {
  /** 0 means greedy. */
  temperature: number;
  /** Nucleus sampling: keeps the most likely tokens with this total probability. */
  topP: number;
}

/** Samples the next token. */
export function sample(
  { likeliest, masses }: Pick<NextToken, "likeliest" | "masses">,
  { temperature, topP }: Sampling,
  random: Random,
): number {
  if (temperature === 0) return likeliest;
  return draw(masses(temperature), topP, random.uniform()) ?? likeliest;
}

/**
 * Inverse transform sampling over the tokens by descending probability, ties by id. Sorts only a few
 * tokens of one group, since there may be 100,000.
 * @param share uniform in [0, 1)
 */
function draw({ of, sums, tokensOf }: Masses, topP: number, share: number): number | undefined {
  const total = sums.reduce((sum, mass) => sum + mass, 0);

  /** The token at which the cumulative mass satisfies the condition, and that mass. */
  function find(isReached: (sum: number) => boolean): Found | undefined {
    let sum = 0;
    for (let group = 0; group < GROUPS; group++) {
      // Sums in another order may differ by rounding.
      const isHere = isReached((sum + sums[group]!) * (1 + 1e-12));
      const found = isHere ? reach(tokensOf(group), of, sum, isReached) : undefined;
      if (found) return found;
      sum += sums[group]!;
    }
    return undefined;
  }

  const kept = topP < 1 ? find((sum) => sum >= topP * total)?.sum : total;
  return kept === undefined ? undefined : find((sum) => sum > share * kept)?.token;
}

interface Found {
  token: number;
  /** Cumulative mass including the token. */
  sum: number;
}

/** Fewer tokens are sorted directly. */
const SORT_LIMIT = 16;

/**
 * Quickselect by cumulative mass.
 * @param tokens in any order; modified
 * @param sum of the masses before these tokens
 */
function reach(
  tokens: Int32Array,
  masses: Float32Array,
  sum: number,
  isReached: (sum: number) => boolean,
): Found | undefined {
  const compare = (a: number, b: number) => masses[b]! - masses[a]! || a - b;
  let part = tokens;
  while (part.length > SORT_LIMIT) {
    const pivot = part[part.length >> 1]!;
    let [count, mass] = [0, 0];
    for (let i = 0; i < part.length; i++) {
      const token = part[i]!;
      if (compare(token, pivot) >= 0) continue;
      part[i] = part[count]!;
      part[count++] = token;
      mass += masses[token]!;
    }
    if (count > 0 && isReached(sum + mass)) {
      part = part.subarray(0, count);
    } else if (isReached(sum + mass + masses[pivot]!)) {
      return { token: pivot, sum: sum + mass + masses[pivot]! };
    } else {
      sum += mass + masses[pivot]!;
      part = part.subarray(count).filter((token) => token !== pivot);
    }
  }
  for (const token of part.sort(compare)) {
    sum += masses[token]!;
    if (isReached(sum)) return { token, sum };
  }
  return undefined;
}
