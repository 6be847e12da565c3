import { describe, expect, test } from "vitest";
import { dimensionsOf } from "../../../engines/families/dimensions.ts";
import { adapterShapes, randomAdapter } from "../../../engines/lora/adapter.ts";
import type { Weights } from "../../../engines/modelFiles/weights.ts";
import type { Recompute } from "../../../engines/training/segments.ts";
import { difference } from "../embedded/kernels/team.ts";
import { learnerOf } from "../embedded/learner.ts";
import {
  FAMILIES as MADE,
  savedModel,
  tokensOf,
  weightsOf,
} from "../embedded/model/madeWeights.ts";
import { FAMILIES, TINY, tinySequences, tinyWeights, toBfloat16 } from "../embedded/tiny.ts";
import { HAS_WEBGPU } from "./device.ts";
import { gpuLearner } from "./learner.ts";

const ALL = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"];
const LORA = { r: 3, alpha: 4, targetModules: ALL };
/** More than one tile of attention, and less. */
const LENGTHS = [37, 1, 2];
const TOKENS = 40;
const STEPS = 20;

/** The largest difference of gradients. */
function apart(one: Weights, other: Weights): number {
  expect(Object.keys(one)).toEqual(Object.keys(other));
  return Math.max(
    ...Object.entries(one).map(([name, { data }]) => difference(data, other[name]!.data)),
  );
}

/** An adapter that already changes something. */
function adapterOf(shape: typeof TINY): Weights {
  const adapter = randomAdapter(LORA, shape, 3);
  for (const { data } of Object.values(adapter))
    data.forEach((_, i) => (data[i] = Math.sin(i) / 8));
  return adapter;
}

describe.runIf(HAS_WEBGPU)("training on WebGPU", () => {
  test.each([...Object.entries(FAMILIES), ["Kit's", TINY] as const])(
    "has the embedded engine's losses and gradients: %s",
    async (_, shape) => {
      const weights = tinyWeights(1, shape);
      const batch = tinySequences(LENGTHS, 3);
      const sizes = { rows: 3, length: 37, shape };
      for (const more of [{}, { lora: LORA, adapter: adapterOf(shape) }]) {
        const wanted = learnerOf(tinyWeights(1, shape), { ...sizes, ...more }).gradients(batch);
        const found = await (
          await gpuLearner(weights, { shape, tokens: TOKENS, ...more })
        ).gradients(batch);
        expect(found.loss).toBeCloseTo(wanted.loss, 5);
        expect(apart(found.gradients, wanted.gradients)).toBeLessThan(1e-5);
      }
    },
  );

  test.each(Object.entries(MADE))(
    "has transformers' logits and PEFT's losses: %s",
    async (_, made) => {
      const { shape, weights } = savedModel(made);
      const [rows, length] = [2, 12];
      const ids = tokensOf("tokens", rows * (length + 1), made.config.vocab_size);
      const row = (at: number) =>
        Uint32Array.from(ids.slice(at * (length + 1), (at + 1) * (length + 1)));
      const lora = { r: 2, alpha: 4, targetModules: ALL };
      const adapter = weightsOf(adapterShapes(lora, shape));
      const gpu = await gpuLearner(weights, { shape, tokens: rows * length, lora, adapter });

      const tokens = row(0);
      const whole = { tokens, learned: new Uint8Array(length + 1).fill(1, 1) };
      const [[logProbs = new Float32Array()] = []] = await gpu.learner.logProbs(
        [{ sequences: [whole] }],
        { usesAdapter: false },
      );
      const wanted = made.logits.map((logits, at) => {
        const total = Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit), 0));
        return logits[tokens[at + 1]!]! - total;
      });
      expect(difference(logProbs, wanted)).toBeLessThan(1e-4);

      const learned = Uint8Array.from({ length: length + 1 }, (_, i) => (i > length / 2 ? 1 : 0));
      const batch = [0, 1].map((at) => ({ tokens: row(at), learned }));
      const losses: number[] = [];
      for (let step = 1; step <= STEPS; step++) {
        losses.push(await gpu.backpropagate(batch));
        await gpu.learner.update(step, 1e-2);
      }
      expect(difference(losses, made.losses.all)).toBeLessThan(5e-4);
    },
  );

  const wide = dimensionsOf({ layers: 2, heads: 2, width: 32, context: 48 });

  test.each([
    ["in bfloat16", undefined],
    ["quantized to q8_0", "q8_0"],
  ] as const)("trains an adapter on a base %s as the embedded engine", async (_, baseType) => {
    const weights = toBfloat16(tinyWeights(1, wide));
    const batch = tinySequences([9, 4], 5);
    const more = { lora: { ...LORA, ...(baseType && { baseType }) }, adapter: adapterOf(wide) };
    const wanted = learnerOf(weights, { rows: 2, length: 9, shape: wide, ...more });
    const gpu = await gpuLearner(weights, { shape: wide, tokens: 13, ...more });
    expect(gpu.plan.model.tensors.frozen["model.embed_tokens.weight"]).toMatchObject({
      matrix: { type: baseType ?? "bf16" },
    });
    for (let step = 1; step <= 5; step++) {
      const { loss, gradNorm } = wanted.backpropagate([[...batch]]);
      expect(await gpu.backpropagate(batch)).toBeCloseTo(loss, 3);
      expect(await gpu.gradNorm()).toBeCloseTo(gradNorm, 3);
      await gpu.learner.update(step, 1e-2);
      wanted.update(step, 1e-2);
    }
  });

  test("splits tensors where buffers are small, and batches where they are large", async () => {
    const weights = tinyWeights(1, wide);
    const batch = tinySequences([9, 4, 7], 5);
    const of = async (tokens: number, maxWords?: number) =>
      gpuLearner(weights, { shape: wide, tokens, ...(maxWords && { maxWords }) });
    const whole = await (await of(20)).gradients(batch);
    const split = await of(20, 20 * 192);
    const { pages, trained } = split.plan.model.tensors;
    expect(pages.length).toBeGreaterThan(5);
    expect(trained["model.embed_tokens.weight"]).toHaveLength(3);
    for (const other of [split, await of(9)]) {
      const found = await other.gradients(batch);
      expect(found.loss).toBeCloseTo(whole.loss, 5);
      expect(found.gradNorm).toBeCloseTo(whole.gradNorm, 5);
      expect(apart(found.gradients, whole.gradients)).toBeLessThan(1e-6);
    }
    await expect(of(20, 1000)).rejects.toThrow(
      /^The GPU's largest buffer is 0\.00 GiB, but 20 tokens of this model need one of/,
    );
  });

  test("recomputes activations to the same bits, step by step", async () => {
    const weights = tinyWeights(1, wide);
    const batch = tinySequences([9, 4], 5);
    const of = async (recompute: Recompute) =>
      (await gpuLearner(weights, { shape: wide, tokens: 13, recompute })).gradients(batch);
    const kept = await of({ cheap: false, segments: 0 });
    expect(await of({ cheap: false, segments: 0 })).toEqual(kept);
    expect(await of({ cheap: true, segments: 3 })).toEqual(kept);
    expect(await of({ cheap: true, segments: 2, isPerLayer: true })).toEqual(kept);
  });
});
