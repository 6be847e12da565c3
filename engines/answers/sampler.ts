import type { Random } from "../dataset/random.ts";
import { type Masses, type NextToken, GROUPS } from "./reader.ts";

export interface Sampling {
  /** 0 takes the likeliest token. */
  temperature: number;
  /** Keeps the likeliest tokens that together hold this much probability. */
  topP: number;
}

/** Chooses a token by the logits that follow; of equally likely ones the first. */
export function sample(
  { likeliest, masses }: Pick<NextToken, "likeliest" | "masses">,
  { temperature, topP }: Sampling,
  random: Random,
): number {
  if (temperature === 0) return likeliest;
  return draw(masses(temperature), topP, random.uniform()) ?? likeliest;
}

/**
 * Draws a token as if all were sorted, the likeliest first, of equal ones the first one first, and the `share` of
 * those that topP keeps were taken from the start. Only a few of one group are sorted, since there are 100,000.
 * @param share from 0, below 1
 */
function draw({ of, sums, tokensOf }: Masses, topP: number, share: number): number | undefined {
  const total = sums.reduce((sum, mass) => sum + mass, 0);

  /** The token at which the masses, largest first, reach what is wanted, and their sum with it. */
  function find(isReached: (sum: number) => boolean): Found | undefined {
    let sum = 0;
    for (let group = 0; group < GROUPS; group++) {
      // In another order, a sum may differ by its rounding.
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
  /** Of all masses up to this token's. */
  sum: number;
}

/** Tokens that are sorted at once. */
const FEW = 16;

/**
 * Finds a token as if all were sorted, by parts: those before one of them, and the others.
 * @param tokens in any order; it changes
 * @param sum of the masses before
 */
function reach(
  tokens: Int32Array,
  masses: Float32Array,
  sum: number,
  isReached: (sum: number) => boolean,
): Found | undefined {
  const compare = (a: number, b: number) => masses[b]! - masses[a]! || a - b;
  let part = tokens;
  while (part.length > FEW) {
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
