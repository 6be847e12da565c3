import type { Random } from "../dataset/random.ts";
import { type SamplingWeights, type NextToken, BUCKETS } from "./reader.ts";

export interface Sampling {
  /** 0 means greedy. */
  temperature: number;
  /** Nucleus sampling: keeps the most likely tokens with this total probability. */
  topP: number;
}

export function sample(
  { argmax, weights }: Pick<NextToken, "argmax" | "weights">,
  { temperature, topP }: Sampling,
  random: Random,
): number {
  if (temperature === 0) return argmax;
  return draw(weights(temperature), topP, random.uniform()) ?? argmax;
}

/**
 * Inverse transform sampling over the tokens by descending probability, ties by id. Sorts only a few
 * tokens of one bucket, since there may be 100,000.
 * @param uniform a random number in [0, 1)
 */
function draw(
  { byToken, sums, tokensOf }: SamplingWeights,
  topP: number,
  uniform: number,
): number | undefined {
  const total = sums.reduce((sum, weight) => sum + weight, 0);

  /** The first token whose cumulative weight satisfies the condition. */
  function find(isReached: (sum: number) => boolean): Found | undefined {
    let sum = 0;
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      // The weights may be summed in another order below, which rounds differently.
      const mayBeHere = isReached((sum + sums[bucket]!) * (1 + 1e-12));
      const found = mayBeHere ? findInBucket(tokensOf(bucket), byToken, sum, isReached) : undefined;
      if (found) return found;
      sum += sums[bucket]!;
    }
    return undefined;
  }

  const keptWeight = topP < 1 ? find((sum) => sum >= topP * total)?.sum : total;
  return keptWeight === undefined ? undefined : find((sum) => sum > uniform * keptWeight)?.token;
}

interface Found {
  token: number;
  /** Cumulative weight including the token. */
  sum: number;
}

/** Fewer tokens are sorted directly. */
const SORT_LIMIT = 16;

/**
 * Quickselect by cumulative weight.
 * @param tokens in any order; modified
 * @param sum of the weights before these tokens
 */
function findInBucket(
  tokens: Int32Array,
  weights: Float32Array,
  sum: number,
  isReached: (sum: number) => boolean,
): Found | undefined {
  const compare = (a: number, b: number) => weights[b]! - weights[a]! || a - b;
  let candidates = tokens;
  while (candidates.length > SORT_LIMIT) {
    const pivot = candidates[candidates.length >> 1]!;
    let [count, weight] = [0, 0];
    for (let i = 0; i < candidates.length; i++) {
      const token = candidates[i]!;
      if (compare(token, pivot) >= 0) continue;
      candidates[i] = candidates[count]!;
      candidates[count++] = token;
      weight += weights[token]!;
    }
    if (count > 0 && isReached(sum + weight)) {
      candidates = candidates.subarray(0, count);
    } else if (isReached(sum + weight + weights[pivot]!)) {
      return { token: pivot, sum: sum + weight + weights[pivot]! };
    } else {
      sum += weight + weights[pivot]!;
      candidates = candidates.subarray(count).filter((token) => token !== pivot);
    }
  }
  for (const token of candidates.sort(compare)) {
    sum += weights[token]!;
    if (isReached(sum)) return { token, sum };
  }
  return undefined;
}
