import type { NextToken } from "../embedded/infer/decoder.ts";
import { type Masses, GROUPS } from "../embedded/infer/masses.ts";

const BITS = 32;

/**
 * What follows a token.
 * @param found the logit of each token
 * @param allowed a bit for each token that may be chosen
 */
export function nextTokenOf(
  found: ReadonlyMap<number, number>,
  vocabulary: number,
  allowed: Int32Array,
): NextToken {
  const logits = new Float32Array(vocabulary).fill(-Infinity);
  for (const [token, logit] of found) if (token < vocabulary) logits[token] = logit;
  const may = (token: number) => ((allowed[token >>> 5]! >>> (token & (BITS - 1))) & 1) === 1;
  let [likeliest, highest, lowest] = [-1, -Infinity, Infinity];
  let isFinite = true;
  for (let token = 0; token < vocabulary; token++) {
    const logit = logits[token]!;
    isFinite &&= Number.isFinite(logit);
    highest = Math.max(highest, logit);
    lowest = Math.min(lowest, logit);
    if (may(token) && (likeliest === -1 || logit > logits[likeliest]!)) likeliest = token;
  }
  return {
    ...{ logits, likeliest, isTelling: isFinite && highest > lowest },
    logTotal: () => highest + Math.log(sumOf(logits, highest)),
    masses: (temperature) => massesOf(logits, may, logits[likeliest] ?? 0, temperature),
  };
}

function sumOf(logits: Float32Array, highest: number): number {
  let sum = 0;
  for (const logit of logits) sum += Math.exp(logit - highest);
  return sum;
}

/** As the embedded engine's kernel has them, for the same draws. */
function massesOf(
  logits: Float32Array,
  may: (token: number) => boolean,
  greatest: number,
  temperature: number,
): Masses {
  const of = new Float32Array(logits.length);
  const sums = new Float64Array(GROUPS);
  const groups: number[][] = Array.from({ length: GROUPS }, () => []);
  for (let token = 0; token < logits.length; token++) {
    if (!may(token)) continue;
    const mass = Math.fround(Math.exp((logits[token]! - greatest) / temperature));
    const group = mass >= 1 ? 0 : Math.floor(-Math.log2(mass) * 8) + 1;
    if (group >= GROUPS) continue;
    of[token] = mass;
    sums[group]! += mass;
    groups[group]!.push(token);
  }
  return { of, sums, tokensOf: (group) => Int32Array.from(groups[group]!) };
}
