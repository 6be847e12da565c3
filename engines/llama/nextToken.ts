import { type Masses, type NextToken, GROUPS } from "../answers/reader.ts";
import type { Following } from "./nodeLlama.ts";

const BITS = 32;

/**
 * The next token's distribution.
 * @param following logits of all tokens, or of the most likely
 * @param allowed bit mask of allowed tokens
 */
export function nextTokenOf(
  { logits: found = new Map(), totalLogitWeight = NaN }: Following,
  vocabulary: number,
  allowed: Int32Array,
): NextToken {
  const logits = new Float32Array(vocabulary).fill(-Infinity);
  const tokens = Int32Array.from(found.keys())
    .filter((token) => token < vocabulary)
    .sort();
  let [highest, lowest] = [-Infinity, Infinity];
  for (const token of tokens) {
    const logit = found.get(token)!;
    logits[token] = logit;
    highest = Math.max(highest, logit);
    lowest = Math.min(lowest, logit);
  }
  const allowedTokens = tokens.filter(
    (token) => ((allowed[token >>> 5]! >>> (token & (BITS - 1))) & 1) === 1,
  );
  let likeliest = -1;
  for (const token of allowedTokens) {
    if (likeliest === -1 || logits[token]! > logits[likeliest]!) likeliest = token;
  }
  const isFinite = [totalLogitWeight, highest, lowest].every(Number.isFinite);
  return {
    logits,
    likeliest,
    isTelling: isFinite && highest > lowest,
    logTotal: () => highest + Math.log(totalLogitWeight),
    masses: (temperature) =>
      probabilitiesOf(logits, allowedTokens, logits[likeliest] ?? 0, temperature),
  };
}

/** Grouped as by the embedded engine's kernel, to sample the same tokens. */
function probabilitiesOf(
  logits: Float32Array,
  allowedTokens: Int32Array,
  max: number,
  temperature: number,
): Masses {
  const of = new Float32Array(logits.length);
  const sums = new Float64Array(GROUPS);
  const groups: number[][] = Array.from({ length: GROUPS }, () => []);
  for (const token of allowedTokens) {
    const mass = Math.fround(Math.exp((logits[token]! - max) / temperature));
    const group = mass >= 1 ? 0 : Math.floor(-Math.log2(mass) * 8) + 1;
    if (group >= GROUPS) continue;
    of[token] = mass;
    sums[group]! += mass;
    groups[group]!.push(token);
  }
  return { of, sums, tokensOf: (group) => Int32Array.from(groups[group]!) };
}
