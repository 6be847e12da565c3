import { grad, jit, numpy as np, tree } from "@jax-js/jax";
import { beforeAll, expect, test } from "vitest";
import { causalAttention } from "../../../../engines/embedded/model/attention.ts";
import { startBackend } from "../../../../engines/embedded/model/backend.ts";
import { createLoss, toArrays } from "../../../../engines/embedded/train/learner.ts";
import { randomAdapter } from "../../../../engines/llama/adapter.ts";
import { type Params, forward, toParams } from "../../../../engines/embedded/model/model.ts";
import { createRandom } from "../../../../engines/llama/random.ts";
import { VOCABULARY } from "../../../../engines/llama/tokenizer.ts";
import type { Weights } from "../../../../engines/llama/weights.ts";
import { TINY, tinyBatch, tinyTokens, tinyWeights } from "../tiny.ts";

beforeAll(startBackend);

const ROWS = 2;
const LENGTH = 6;
const SIZES = { shape: TINY, rows: ROWS, length: LENGTH };
const LORA = { r: 2, alpha: 4, targetModules: ["q_proj", "v_proj", "down_proj"] };

function logitsOf(weights: Weights, tokens: Int32Array<ArrayBuffer>): Float32Array {
  const attend = causalAttention(TINY, 1, tokens.length);
  return forward(toParams(weights), np.array(tokens), TINY, attend).dataSync() as Float32Array;
}

/** A random direction of length 1 in a tensor's space. */
function direction(size: number, name: string): Float32Array {
  const random = createRandom(7, name);
  const values = Float32Array.from({ length: size }, random.normal);
  const norm = Math.hypot(...values);
  return values.map((value) => value / norm);
}

test.each(["the whole model", "an adapter"])(
  "gradients of %s agree with finite differences",
  (what) => {
    const base = tinyWeights();
    const adapter = randomAdapter(LORA, TINY, 3);
    for (const { data } of Object.values(adapter)) data.set(direction(data.length, "start"));
    const lora = what === "an adapter" ? LORA : null;
    const [trained, frozen] = lora ? [adapter, base] : [base, {}];
    const lossFunction = createLoss({ ...SIZES, lora });
    const batch = tinyBatch(ROWS, LENGTH);
    const lossAt = jit((params: Params) => lossFunction(params, toParams(frozen), toArrays(batch)));
    const gradients = jit(
      grad((params: Params) => lossFunction(params, toParams(frozen), toArrays(batch))),
    )(toParams(trained));

    const STEP = 0.02;
    for (const [name, tensor] of Object.entries(trained)) {
      const along = direction(tensor.data.length, name);
      const moved = (by: number) => {
        const data = tensor.data.map((value, i) => value + by * (along[i] ?? 0));
        return lossAt(toParams({ ...trained, [name]: { shape: tensor.shape, data } })).item();
      };
      const measured = (moved(STEP) - moved(-STEP)) / (2 * STEP);
      const gradient = (gradients[name]?.dataSync() ?? []) as Float32Array;
      const computed = along.reduce((sum, value, i) => sum + value * (gradient[i] ?? 0), 0);
      expect(Math.abs(computed - measured), name).toBeLessThan(1e-4 + 0.02 * Math.abs(measured));
      expect(computed, name).not.toBe(0);
    }
  },
);

test("a token does not see those after it", () => {
  const tokens = tinyTokens(8);
  const changed = tokens.with(5, (tokens[5] ?? 0) ^ 1);
  const [before, after] = [logitsOf(tinyWeights(), tokens), logitsOf(tinyWeights(), changed)];
  const seen = 5 * VOCABULARY;
  expect(after.subarray(0, seen)).toEqual(before.subarray(0, seen));
  expect(after.subarray(seen)).not.toEqual(before.subarray(seen));
});

test("a token sees where the others are", () => {
  const [a = 0, b = 0, c = 0] = tinyTokens(3);
  const last = (tokens: number[]) =>
    logitsOf(tinyWeights(), Int32Array.from(tokens)).slice(-VOCABULARY);
  expect(last([a, b, c])).not.toEqual(last([b, a, c]));
});

test("what is not learned does not count", () => {
  const lossFunction = createLoss({ ...SIZES, lora: null });
  const batch = tinyBatch(ROWS, LENGTH);
  const loss = (targets: Int32Array<ArrayBuffer>) =>
    lossFunction(toParams(tinyWeights()), {}, toArrays({ ...batch, targets })).item();
  const unlearned = batch.targets.with(1, 99);
  expect(batch.learned[1]).toBe(0);
  expect(loss(unlearned)).toBe(loss(batch.targets));
  expect(loss(batch.targets.with(4, 99))).not.toBe(loss(batch.targets));
});

test("the loss is the mean negative log likelihood of the learned targets", () => {
  const batch = tinyBatch(1, LENGTH);
  const lossFunction = createLoss({ ...SIZES, rows: 1, lora: null });
  const weights = tinyWeights();
  const logits = logitsOf(weights, batch.tokens);
  const terms = [3, 4, 5].map((at) => {
    const row = [...logits.subarray(at * VOCABULARY, (at + 1) * VOCABULARY)];
    const total = row.reduce((sum, logit) => sum + Math.exp(logit), 0);
    return Math.log(total) - (row[batch.targets[at] ?? 0] ?? 0);
  });
  const loss = lossFunction(toParams(weights), {}, toArrays(batch)).item();
  expect(loss).toBeCloseTo(terms.reduce((sum, term) => sum + term) / 3, 4);
});

test("a step leaks no array", () => {
  const params = toParams(tinyWeights());
  const lossFunction = createLoss({ ...SIZES, lora: null });
  lossFunction(tree.ref(params), {}, toArrays(tinyBatch(ROWS, LENGTH))).dispose();
  for (const array of Object.values(params)) expect(array.refCount).toBe(1);
});
