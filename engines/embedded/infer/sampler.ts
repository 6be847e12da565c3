import type { Random } from "../../random.ts";

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
  const candidates: { token: number; mass: number }[] = [];
  logits.forEach((logit, token) => {
    const mass = Math.exp((logit - highest) / temperature);
    if (!(mass < LEAST_MASS)) candidates.push({ token, mass });
  });
  candidates.sort((a, b) => b.mass - a.mass || a.token - b.token);
  const total = candidates.reduce((sum, { mass }) => sum + mass, 0);
  let kept = 0;
  let count = 0;
  while (count < candidates.length && kept < topP * total) kept += candidates[count++]?.mass ?? 0;
  let left = random.uniform() * kept;
  for (const { token, mass } of candidates.slice(0, count)) {
    left -= mass;
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
