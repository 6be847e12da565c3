import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { saveModel } from "../../../../engines/checkpoint/checkpoint.ts";
import { createRandom } from "../../../../engines/dataset/random.ts";
import type { Sequence } from "../../../../engines/examples/examples.ts";
import type { Dimensions } from "../../../../engines/families/dimensions.ts";
import { randomAdapter } from "../../../../engines/lora/adapter.ts";
import { type Weights, widen } from "../../../../engines/modelFiles/weights.ts";
import type { Recompute } from "../../../../engines/training/segments.ts";
import { difference } from "../kernels/team.ts";
import { type Sizes, learnerOf, logitsOf } from "../learner.ts";
import { referenceLogits } from "../llama.ts";
import { scratchDirectory } from "../scratch.ts";
import {
  FAMILIES,
  TINY,
  tinyBatch,
  tinySequences,
  tinyTokens,
  tinyWeights,
  UNTIED,
  mergedWeights,
} from "../tiny.ts";

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

/** A batch's loss by the reference, in float64. */
function referenceLoss(
  weights: Weights,
  shape: Dimensions,
  batch: readonly Sequence[] = tinyBatch(ROWS, LENGTH),
): number {
  const directory = join(scratchDirectory(), "model");
  saveModel(directory, weights, { shape, promptStyle: "message" });
  let [sum, count] = [0, 0];
  for (const { tokens, learned } of batch) {
    referenceLogits(directory, [...tokens.subarray(0, -1)]).forEach((logits, at) => {
      if (learned[at + 1] !== 1) return;
      const total = Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit), 0));
      sum += total - (logits[tokens[at + 1] ?? 0] ?? NaN);
      count++;
    });
  }
  return sum / count;
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

const SHAPES: [string, Dimensions][] = [
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

  test("sequences of any length are learned as by that definition, also in several parts", () => {
    const weights = tinyWeights(1, shape);
    const batch = tinySequences([1, 7, 2, 5, 11, 1]);
    const wanted = referenceLoss(weights, shape, batch);
    const whole = { rows: 6, length: 11, limits: { tokens: 27 }, shape };
    const { loss, gradients } = learnerOf(weights, whole).gradients(batch);
    expect(loss).toBeCloseTo(wanted, 5);
    compare(weights, gradients, (moved) => referenceLoss(moved, shape, batch));
    const parts = learnerOf(weights, { ...whole, limits: { tokens: 11, scores: 150 } });
    const split = parts.gradients(batch);
    expect(split.loss).toBeCloseTo(loss, 5);
    for (const [name, { data }] of Object.entries(gradients))
      expect(difference(split.gradients[name]?.data ?? [], data), name).toBeLessThan(1e-6);
    expect(parts.measure(batch).sum).toBeCloseTo(loss * parts.measure(batch).count, 4);
  });
});

test.each(SHAPES)(
  "activations that are computed again give the same to the bit: %s",
  (_, shape) => {
    const base = tinyWeights(1, shape);
    const adapter = randomAdapter(LORA, shape, 3);
    for (const { data } of Object.values(adapter)) data.set(direction(data.length, "start"));
    for (const lora of [undefined, LORA]) {
      const of = (recompute: Recompute) => {
        const sizes: Sizes = { ...SIZES, shape, recompute };
        const learner = learnerOf(base, lora ? { ...sizes, lora, adapter } : sizes);
        return learner.gradients(tinyBatch(ROWS, LENGTH));
      };
      const kept = of({ cheap: false, segments: 0 });
      expect(of({ cheap: true, segments: 0 })).toEqual(kept);
      for (let segments = 1; segments <= 2 * shape.layers; segments++)
        expect(of({ cheap: true, segments })).toEqual(kept);
      expect(of({ cheap: true, segments: shape.layers, isPerLayer: true })).toEqual(kept);
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
      referenceLoss(widen(mergedWeights(base, moved, LORA)), shape),
    );
  },
);

/** The loss where only the last token of one row counts. */
function lossOf(tokens: Int32Array<ArrayBuffer>): number {
  const learned = new Uint8Array(tokens.length);
  learned[tokens.length - 1] = 1;
  const sequence = { tokens: Uint16Array.from(tokens), learned };
  return learnerOf(tinyWeights(), { rows: 1, length: tokens.length }).gradients([sequence]).loss;
}

/** The logits after each token of a row. */
const logitsAt = (tokens: Int32Array, at: number) => logitsOf(tinyWeights(), tokens)[at];

test("a token does not see those after it", () => {
  const tokens = tinyTokens(8);
  const changed = tokens.with(5, (tokens[5] ?? 0) ^ 1);
  expect(logitsAt(changed, 4)).toEqual(logitsAt(tokens, 4));
  expect(logitsAt(changed, 5)).not.toEqual(logitsAt(tokens, 5));
  expect(logitsAt(changed, 7)).not.toEqual(logitsAt(tokens, 7));
});

test("a window hides what is before it, and nothing if it is longer than any sequence", () => {
  const logitsBy = (window: number) => {
    const shape = {
      ...FAMILIES["Gemma 3"]!,
      layers: 1,
      sliding: { layers: [0], window, theta: 30 },
    };
    const weights = tinyWeights(1, shape);
    const read = [...tinyTokens(9)];
    return [read, read.with(0, 7)].map((tokens) => logitsOf(weights, tokens, shape).at(-1));
  };
  const [same, changed] = logitsBy(8);
  expect(changed).toEqual(same);
  const [before, after] = logitsBy(9);
  expect(after).not.toEqual(before);
  expect(logitsBy(2 ** 40)).toEqual([before, after]);
});

test("a sequence does not see the others of its batch", () => {
  const batch = tinySequences([5, 7, 3]);
  const measure = (sequences: Sequence[]) =>
    learnerOf(tinyWeights(), { rows: 3, length: 7 }).measure(sequences).sum;
  const alone = batch.map((sequence) => measure([sequence]));
  expect(measure(batch)).toBeCloseTo(
    alone.reduce((sum, loss) => sum + loss, 0),
    4,
  );
});

test("a token sees where the others are", () => {
  const [a = 0, b = 0, c = 0, d = 0] = tinyTokens(4);
  expect(lossOf(Int32Array.of(a, b, c, d))).not.toBe(lossOf(Int32Array.of(b, a, c, d)));
});

test("what is not learned does not count", () => {
  const [sequence] = tinyBatch(1, LENGTH) as [Sequence];
  const last = sequence.tokens.length - 1;
  const other = sequence.tokens.with(last, 99);
  const loss = (tokens: Sequence["tokens"], isLearned: boolean) => {
    const learned = sequence.learned.with(last, isLearned ? 1 : 0);
    return learnerOf(tinyWeights(), SIZES).gradients([{ tokens, learned }]).loss;
  };
  expect(loss(other, false)).toBe(loss(sequence.tokens, false));
  expect(loss(other, true)).not.toBe(loss(sequence.tokens, true));
});
