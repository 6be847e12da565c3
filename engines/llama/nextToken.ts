import { type SamplingWeights, type NextToken, BUCKETS } from "../answers/reader.ts";
import type { NextLogits } from "./nodeLlama.ts";

const BITS = 32;

/**
 * The next token's distribution.
 * @param vocabulary number of tokens; the logits may be of only the most likely
 * @param allowed bit mask of allowed tokens
 */
export function nextTokenOf(
  { logits: logitOf = new Map(), totalLogitWeight = NaN }: NextLogits,
  vocabulary: number,
  allowed: Int32Array,
): NextToken {
  const logits = new Float32Array(vocabulary).fill(-Infinity);
  const tokens = Int32Array.from(logitOf.keys())
    .filter((token) => token < vocabulary)
    .sort();
  let [highest, lowest] = [-Infinity, Infinity];
  for (const token of tokens) {
    const logit = logitOf.get(token)!;
    logits[token] = logit;
    highest = Math.max(highest, logit);
    lowest = Math.min(lowest, logit);
  }
  const allowedTokens = tokens.filter(
    (token) => ((allowed[token >>> 5]! >>> (token & (BITS - 1))) & 1) === 1,
  );
  let argmax = -1;
  for (const token of allowedTokens) {
    if (argmax === -1 || logits[token]! > logits[argmax]!) argmax = token;
  }
  const isFinite = [totalLogitWeight, highest, lowest].every(Number.isFinite);
  return {
    logits,
    argmax,
    isDegenerate: !isFinite || highest <= lowest,
    logSumExp: () => highest + Math.log(totalLogitWeight),
    weights: (temperature) => weightsOf(logits, allowedTokens, logits[argmax] ?? 0, temperature),
  };
}

/** Sampling weights in the same buckets as the embedded engine's kernel, to sample the same tokens. */
function weightsOf(
  logits: Float32Array,
  allowedTokens: Int32Array,
  max: number,
  temperature: number,
): SamplingWeights {
  const byToken = new Float32Array(logits.length);
  const sums = new Float64Array(BUCKETS);
  const buckets: number[][] = Array.from({ length: BUCKETS }, () => []);
  for (const token of allowedTokens) {
    const weight = Math.fround(Math.exp((logits[token]! - max) / temperature));
    const bucket = weight >= 1 ? 0 : Math.floor(-Math.log2(weight) * 8) + 1;
    if (bucket >= BUCKETS) continue;
    byToken[token] = weight;
    sums[bucket]! += weight;
    buckets[bucket]!.push(token);
  }
  return { byToken, sums, tokensOf: (bucket) => Int32Array.from(buckets[bucket]!) };
}
