import { expect, test } from "vitest";
import { sample } from "../../../../engines/embedded/infer/sampler.ts";
import { createRandom } from "../../../../engines/random.ts";

const LOGITS = Float32Array.from([0.1, 0.2, 0.6, 0.1], Math.log);

function shares(sampling: { temperature: number; topP: number }): number[] {
  const random = createRandom(1);
  const counts = [0, 0, 0, 0];
  for (let i = 0; i < 4000; i++) counts[sample(LOGITS, sampling, random)]! += 1 / 4000;
  return counts.map((share) => Math.round(share * 20) / 20);
}

test("temperature 0 takes the likeliest token, the first of equals", () => {
  expect(shares({ temperature: 0, topP: 1 })).toEqual([0, 0, 1, 0]);
  expect(sample(new Float32Array(4), { temperature: 0, topP: 1 }, createRandom(0))).toBe(0);
});

test("temperature 1 samples by the model's probabilities", () => {
  expect(shares({ temperature: 1, topP: 1 })).toEqual([0.1, 0.2, 0.6, 0.1]);
});

test("a lower temperature prefers the likely tokens", () => {
  const [, second = 0, likeliest = 0] = shares({ temperature: 0.5, topP: 1 });
  expect(likeliest).toBeGreaterThan(0.8);
  expect(second).toBeGreaterThan(0);
});

test("topP keeps only the likeliest tokens that together hold that much", () => {
  expect(shares({ temperature: 1, topP: 0.7 })).toEqual([0, 0.25, 0.75, 0]);
  expect(shares({ temperature: 1, topP: 0.01 })).toEqual([0, 0, 1, 0]);
});

test("a model that has gone wrong still gets a token", () => {
  const broken = new Float32Array(4).fill(NaN);
  for (const temperature of [0, 1]) {
    expect(sample(broken, { temperature, topP: 0.9 }, createRandom(0))).toBe(0);
  }
});
