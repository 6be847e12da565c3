import type { Random } from "../../random.ts";
import { createRanking } from "./ranking.ts";

export interface Sampling {
  /** 0 takes the likeliest token. */
  temperature: number;
  /** Keeps the likeliest tokens that together hold this much probability. */
  topP: number;
}

/** A token that is so much less likely than the likeliest is never drawn: there are 100,000 of them. */
const LEAST_MASS = 1e-9;

/** Chooses a token by its logits [vocabulary]; of equally likely ones the first. */
export function sample(
  logits: Float32Array,
  { temperature, topP }: Sampling,
  random: Random,
): number {
  const likeliest = argmax(logits);
  if (temperature === 0) return likeliest;
  const highest = logits[likeliest] ?? 0;
  const masses = new Float64Array(logits.length);
  let total = 0;
  for (let token = 0; token < logits.length; token++) {
    const mass = Math.exp((logits[token]! - highest) / temperature);
    if (mass < LEAST_MASS) continue;
    masses[token] = mass;
    total += mass;
  }
  const ranking = createRanking(masses, LEAST_MASS);
  let kept = 0;
  let count = 0;
  if (topP < 1) {
    while (count < ranking.length && kept < topP * total) kept += masses[ranking.at(count++)]!;
  } else {
    [kept, count] = [total, ranking.length];
  }
  let left = random.uniform() * kept;
  for (let rank = 0; rank < count; rank++) {
    const token = ranking.at(rank);
    left -= masses[token]!;
    if (left < 0) return token;
  }
  return likeliest;
}

function argmax(logits: Float32Array): number {
  let best = 0;
  for (let i = 1; i < logits.length; i++) {
    if ((logits[i] ?? -Infinity) > (logits[best] ?? -Infinity)) best = i;
  }
  return best;
}
