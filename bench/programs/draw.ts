// How long it takes to choose a token, in ms; prints JSON, a `DrawTimes`.
//   draw.js <vocabulary> <draws>
import { join } from "node:path";
import type * as sampler from "../../engines/embedded/infer/sampler.ts";
import { createRandom } from "../../engines/random.ts";
import { ROOT } from "../places.ts";

export interface DrawTimes {
  /** The likeliest token. */
  greedy: number;
  /** `temperature` 1 and `topP` 0.9: of logits as a language model's, and of nearly equal ones. */
  peaked: number;
  flat: number;
}

const SETS = 8;
/** Probability falls by this power of the rank, as that of words. */
const ZIPF = 1.2;
const WARM_UP = 5;

const [vocabulary = 0, draws = 0] = process.argv.slice(2).map(Number);
const file = join(ROOT, "dist", "engines", "embedded", "infer", "sampler.js");
const { sample } = (await import(file)) as typeof sampler;
const random = createRandom(1, "draw");

const peaked = logitsOf((rank) => -ZIPF * Math.log(rank + 1));
const flat = logitsOf(() => random.normal());
const drawn = { temperature: 1, topP: 0.9 };
const times: DrawTimes = {
  greedy: timeOf(peaked, { temperature: 0, topP: 1 }),
  peaked: timeOf(peaked, drawn),
  flat: timeOf(flat, drawn),
};
console.log(JSON.stringify(times));

/** Logits in a random order, several times. */
function logitsOf(logitOf: (rank: number) => number): Float32Array[] {
  return Array.from({ length: SETS }, () => {
    const logits = Float32Array.from({ length: vocabulary }, (_, rank) => logitOf(rank));
    for (let i = logits.length - 1; i > 0; i--) {
      const j = Math.floor(random.uniform() * (i + 1));
      [logits[i], logits[j]] = [logits[j]!, logits[i]!];
    }
    return logits;
  });
}

/** The median of the draws, after some that V8 optimizes. */
function timeOf(all: Float32Array[], sampling: sampler.Sampling): number {
  const ms: number[] = [];
  for (let draw = -WARM_UP; draw < draws; draw++) {
    const logits = all[(draw + WARM_UP) % SETS]!;
    const start = performance.now();
    sample(logits, sampling, random);
    if (draw >= 0) ms.push(performance.now() - start);
  }
  return ms.sort((a, b) => a - b)[ms.length >> 1] ?? NaN;
}
