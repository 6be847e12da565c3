import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { saveModel } from "../../../../engines/checkpoint/checkpoint.ts";
import type { Recomputed } from "../../../../engines/embedded/model/activations.ts";
import { mergeAdapter, randomAdapter } from "../../../../engines/llama/adapter.ts";
import type { LlamaShape } from "../../../../engines/llama/dimensions.ts";
import { widen } from "../../../../engines/llama/storedWeights.ts";
import type { Weights } from "../../../../engines/llama/weights.ts";
import { createRandom } from "../../../../engines/random.ts";
import { VOCABULARY } from "../../../../engines/tokens/byteTokens.ts";
import { type Sizes, learnerOf } from "../learner.ts";
import { referenceLogits } from "../llama.ts";
import { scratchDirectory } from "../scratch.ts";
import { FAMILIES, TINY, tinyBatch, tinyTokens, tinyWeights, UNTIED } from "../tiny.ts";

const ROWS = 2;
const LENGTH = 6;
const SIZES = { rows: ROWS, length: LENGTH };
const LORA = {
  r: 2,
  alpha: 4,
  targetModules: ["q_proj", "v_proj", "o_proj", "up_proj", "down_proj"],
};

/** A random direction of length 1 in a tensor's space. */
function direction(size: number, name: string): Float32Array<ArrayBuffer> {
  const random = createRandom(7, name);
  const values = Float32Array.from({ length: size }, random.normal);
  const norm = Math.hypot(...values);
  return values.map((value) => value / norm);
}

/** The batch's loss by the reference, in float64. */
function referenceLoss(weights: Weights, shape: LlamaShape): number {
  const directory = join(scratchDirectory(), "model");
  saveModel(directory, weights, { shape, promptStyle: "message" });
  const { tokens, targets, learned } = tinyBatch(ROWS, LENGTH);
  let sum = 0;
  for (let row = 0; row < ROWS; row++) {
    const part = [...tokens.subarray(row * LENGTH, (row + 1) * LENGTH)];
    referenceLogits(directory, part).forEach((logits, i) => {
      const at = row * LENGTH + i;
      const total = Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit), 0));
      sum += (learned[at] ?? 0) * (total - (logits[targets[at] ?? 0] ?? NaN));
    });
  }
  return sum / learned.reduce((sum, one) => sum + one, 0);
}

/** Each tensor's gradient along a direction: as computed, and by differences of a loss. */
function compare(trained: Weights, gradients: Weights, lossAt: (trained: Weights) => number) {
  const STEP = 0.002;
  for (const [name, tensor] of Object.entries(trained)) {
    const along = direction(tensor.data.length, name);
    const moved = (by: number) => {
      const data = tensor.data.map((value, i) => value + by * (along[i] ?? 0));
      return lossAt({ ...trained, [name]: { shape: tensor.shape, data } });
    };
    const measured = (moved(STEP) - moved(-STEP)) / (2 * STEP);
    const gradient = gradients[name]?.data ?? [];
    const computed = along.reduce((sum, value, i) => sum + value * (gradient[i] ?? 0), 0);
    expect(Math.abs(computed - measured), name).toBeLessThan(1e-5 + 0.01 * Math.abs(measured));
    expect(computed, name).not.toBe(0);
  }
}

const SHAPES: [string, LlamaShape][] = [
  ["Kit's", TINY],
  ["Kit's with a head of its own", UNTIED],
  ...Object.entries(FAMILIES),
];

describe.each(SHAPES)("of the whole model, %s,", (_, shape) => {
  test("the loss is that of Llama's definition, the mean of the learned targets", () => {
    const weights = tinyWeights(1, shape);
    const { loss } = learnerOf(weights, { ...SIZES, shape }).gradients(tinyBatch(ROWS, LENGTH));
    expect(loss).toBeCloseTo(referenceLoss(weights, shape), 5);
  });

  test("gradients agree with finite differences of Llama's definition in float64", () => {
    const weights = tinyWeights(1, shape);
    const learner = learnerOf(weights, { ...SIZES, shape });
    const { gradients } = learner.gradients(tinyBatch(ROWS, LENGTH));
    expect(learner.gradients(tinyBatch(ROWS, LENGTH)).gradients).toEqual(gradients);
    expect(Object.keys(gradients)).toEqual(Object.keys(weights));
    compare(weights, gradients, (moved) => referenceLoss(moved, shape));
  });
});

test.each(SHAPES)(
  "activations that are computed again give the same to the bit: %s",
  (_, shape) => {
    const base = tinyWeights(1, shape);
    const adapter = randomAdapter(LORA, shape, 3);
    for (const { data } of Object.values(adapter)) data.set(direction(data.length, "start"));
    for (const lora of [undefined, LORA]) {
      const of = (recomputed: Recomputed) => {
        const sizes: Sizes = { ...SIZES, shape, recomputed };
        const learner = learnerOf(base, lora ? { ...sizes, lora, adapter } : sizes);
        return learner.gradients(tinyBatch(ROWS, LENGTH));
      };
      const kept = of({ cheap: false, blocks: 0 });
      expect(of({ cheap: true, blocks: 0 })).toEqual(kept);
      expect(of({ cheap: true, blocks: 1 })).toEqual(kept);
    }
  },
);

test.each(SHAPES)(
  "gradients of an adapter agree with the same differences, and its base has none: %s",
  (_, shape) => {
    const adapter = randomAdapter(LORA, shape, 3);
    for (const { data } of Object.values(adapter)) data.set(direction(data.length, "start"));
    const base = tinyWeights(1, shape);
    const learner = learnerOf(base, { ...SIZES, shape, lora: LORA, adapter });
    const { gradients } = learner.gradients(tinyBatch(ROWS, LENGTH));
    expect(Object.keys(gradients)).toEqual(Object.keys(adapter));
    compare(adapter, gradients, (moved) =>
      referenceLoss(widen(mergeAdapter(base, moved, LORA)), shape),
    );
  },
);

/** The loss where only the target of position `at` of one row counts. */
function lossAt(tokens: Int32Array<ArrayBuffer>, at: number): number {
  const length = tokens.length;
  const learned = new Float32Array(length);
  learned[at] = 1;
  const targets = tinyTokens(length, 2);
  return learnerOf(tinyWeights(), { rows: 1, length }).gradients({
    tokens,
    targets,
    learned,
    size: length,
  }).loss;
}

test("a token does not see those after it", () => {
  const tokens = tinyTokens(8);
  const changed = tokens.with(5, (tokens[5] ?? 0) ^ 1);
  expect(lossAt(changed, 4)).toBe(lossAt(tokens, 4));
  expect(lossAt(changed, 5)).not.toBe(lossAt(tokens, 5));
  expect(lossAt(changed, 7)).not.toBe(lossAt(tokens, 7));
});

test("a token sees where the others are", () => {
  const [a = 0, b = 0, c = 0] = tinyTokens(3);
  expect(lossAt(Int32Array.of(a, b, c), 2)).not.toBe(lossAt(Int32Array.of(b, a, c), 2));
});

test("what is not learned does not count", () => {
  const batch = tinyBatch(ROWS, LENGTH);
  const loss = (targets: Int32Array<ArrayBuffer>) =>
    learnerOf(tinyWeights(), SIZES).gradients({ ...batch, targets }).loss;
  const unlearned = batch.targets.with(1, VOCABULARY - 1);
  expect(batch.learned[1]).toBe(0);
  expect(loss(unlearned)).toBe(loss(batch.targets));
  expect(loss(batch.targets.with(4, 99))).not.toBe(loss(batch.targets));
});
