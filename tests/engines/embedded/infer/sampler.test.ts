import { expect, test } from "vitest";
import { type Sampling, sample } from "../../../../engines/answers/sampler.ts";
import { type Random, createRandom } from "../../../../engines/dataset/random.ts";
import { SUMS, probabilitiesOf } from "../../../../engines/embedded/infer/probabilities.ts";
import type * as modules from "../../../../engines/embedded/kernels/module.ts";
import { builtModule } from "../built.ts";
import { arena, module } from "../kernels/arena.ts";

const { instantiate } = await builtModule<typeof modules>("kernels/module.js");

const MAX_TOKENS = 500;
const { memory, floats } = arena();
const kernels = instantiate(module, memory);
const x = floats(new Float32Array(MAX_TOKENS)).at;
const bits = floats(new Float32Array(MAX_TOKENS / 8)).at;
new Int32Array(memory.buffer, bits, MAX_TOKENS / 8).fill(-1);
const plan = {
  sums: floats(new Float32Array(2 * SUMS)).at,
  tokens: floats(new Float32Array(MAX_TOKENS)).at,
};

/** What a decoder says of logits. */
function nextOf(logits: Float32Array): Parameters<typeof sample>[0] {
  return {
    argmax: Math.max(0, logits.indexOf(Math.max(...logits))),
    weights(temperature) {
      const row = new Float32Array(memory.buffer, x, logits.length);
      row.set(logits);
      return probabilitiesOf(kernels, plan, row, { temperature, bits });
    },
  };
}

const LOGITS = Float32Array.from([0.1, 0.2, 0.6, 0.1], Math.log);

function shares(sampling: { temperature: number; topP: number }): number[] {
  const random = createRandom(1);
  const counts = [0, 0, 0, 0];
  for (let i = 0; i < 4000; i++) counts[sample(nextOf(LOGITS), sampling, random)]! += 1 / 4000;
  return counts.map((share) => Math.round(share * 20) / 20);
}

test("temperature 0 takes the likeliest token, the first of equals", () => {
  expect(shares({ temperature: 0, topP: 1 })).toEqual([0, 0, 1, 0]);
  expect(sample(nextOf(new Float32Array(4)), { temperature: 0, topP: 1 }, createRandom(0))).toBe(0);
});

test("temperature 1 samples by the model's probabilities", () => {
  expect(shares({ temperature: 1, topP: 1 })).toEqual([0.1, 0.2, 0.6, 0.1]);
});

test("a lower temperature prefers the likely tokens", () => {
  const [, second = 0, argmax = 0] = shares({ temperature: 0.5, topP: 1 });
  expect(argmax).toBeGreaterThan(0.8);
  expect(second).toBeGreaterThan(0);
});

test("topP keeps only the likeliest tokens that together hold that much", () => {
  expect(shares({ temperature: 1, topP: 0.7 })).toEqual([0, 0.25, 0.75, 0]);
  expect(shares({ temperature: 1, topP: 0.01 })).toEqual([0, 0, 1, 0]);
});

test("a model that has gone wrong still gets a token", () => {
  const broken = new Float32Array(4).fill(NaN);
  for (const temperature of [0, 1]) {
    expect(sample(nextOf(broken), { temperature, topP: 0.9 }, createRandom(0))).toBe(0);
  }
});

test("draws what sorting the whole vocabulary draws, at any spread, temperature and topP", () => {
  const random = createRandom(2);
  const pick = (values: number[]) => values[Math.floor(random.uniform() * values.length)] ?? 0;
  for (let round = 0; round < 2000; round++) {
    const spread = pick([0, 0.01, 1, 3, 10]);
    // Rounded, so that many tokens are equally likely.
    const logit = () => Math.round(random.normal() * spread * 8) / 8;
    const logits = Float32Array.from({ length: pick([1, 2, 7, 500]) }, () =>
      random.uniform() < 0.1 ? -Infinity : logit(),
    );
    const sampling = { temperature: pick([0.1, 0.8, 1, 5]), topP: pick([0, 0.5, 0.9, 0.999, 1]) };
    const draws = [sample, sampleBySorting].map((draw) => {
      const own = createRandom(round);
      return Array.from({ length: 5 }, () => draw(nextOf(logits), sampling, own));
    });
    expect(draws[0], JSON.stringify({ round, sampling })).toEqual(draws[1]);
  }
});

/** The definition. */
function sampleBySorting(
  { weights }: Parameters<typeof sample>[0],
  { temperature, topP }: Sampling,
  random: Random,
): number {
  const sorted = Array.from(weights(temperature).byToken, (weight, token) => ({ token, weight }))
    .filter(({ weight }) => weight >= 2 ** -30)
    .sort((a, b) => b.weight - a.weight || a.token - b.token);
  const total = sorted.reduce((sum, { weight }) => sum + weight, 0);
  let kept = 0;
  const nucleus = sorted.filter(({ weight }) => {
    const isKept = kept < topP * total;
    if (isKept) kept += weight;
    return isKept;
  });
  let left = random.uniform() * kept;
  return (nucleus.find(({ weight }) => (left -= weight) < 0) ?? sorted[0])?.token ?? 0;
}
