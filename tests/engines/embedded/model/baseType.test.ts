import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { saveModel } from "../../../../engines/checkpoint/checkpoint.ts";
import { dimensionsOf } from "../../../../engines/families/dimensions.ts";
import { randomAdapter } from "../../../../engines/lora/adapter.ts";
import { dequantize, quantize } from "../../../../engines/modelFiles/blocks/blockType.ts";
import { BLOCK_TYPES } from "../../../../engines/modelFiles/numberTypes.ts";
import { type Weights, widen } from "../../../../engines/modelFiles/weights.ts";
import type { LoraConfig } from "../../../../protocol/trainConfig.ts";
import { createEmbeddedEngine } from "../built.ts";
import { numbers } from "../kernels/team.ts";
import { learnerOf, learnerOnThreads, planOf } from "../learner.ts";
import { losses, run, tinyConfig } from "../run.ts";
import { scratchDirectory } from "../scratch.ts";
import { tinyBatch, tinyWeights, toBfloat16 } from "../tiny.ts";

/** The rows of most matrices are whole blocks; those of `down_proj`, 44 columns wide, are not. */
const SHAPE = dimensionsOf({
  layers: 2,
  heads: 4,
  kvHeads: 2,
  width: 64,
  intermediateSize: 44,
  context: 48,
});
const OWN: LoraConfig = { r: 2, alpha: 4, targetModules: ["q_proj", "down_proj"] };
const LORA: LoraConfig = { ...OWN, baseType: "q8_0" };
const STORED = toBfloat16(tinyWeights(1, SHAPE));

/** The q8_0 base, widened to float32. */
function dequantized(): Weights {
  const wide = widen(STORED);
  for (const [name, tensor] of Object.entries(wide)) {
    const isMatrix = tensor.shape.length === 2 && (tensor.shape[1] ?? 0) % 32 === 0;
    // Side by side they are 88 rows, of which the second 44 begin within a group.
    const isKept = /gate_proj|up_proj/.test(name);
    if (isMatrix && !isKept)
      tensor.data = dequantize(BLOCK_TYPES.q8_0, quantize(BLOCK_TYPES.q8_0, tensor.data));
  }
  return wide;
}

function adapterOf(): Weights {
  const adapter = randomAdapter(OWN, SHAPE, 1);
  for (const { data } of Object.values(adapter)) data.set(numbers(data.length, 2));
  return adapter;
}

test("a base in q8_0 gives, to the bit, the gradients of the numbers that it stands for, on any threads", async () => {
  const sizes = { rows: 2, length: 6, shape: SHAPE, adapter: adapterOf() };
  const batch = tinyBatch(2, 6);
  const expected = learnerOf(dequantized(), { ...sizes, lora: OWN }).gradients(batch);
  expect(learnerOf(STORED, { ...sizes, lora: LORA }).gradients(batch)).toEqual(expected);
  const many = await learnerOnThreads(3, STORED, { ...sizes, lora: LORA });
  expect(many.gradients(batch)).toEqual(expected);
  // The base as it was saved gives others.
  expect(learnerOf(STORED, { ...sizes, lora: OWN }).gradients(batch)).not.toEqual(expected);
});

test("the base takes 34 bytes for 32 numbers in memory", () => {
  const sizes = { rows: 2, length: 6, shape: SHAPE };
  const bytesOf = (lora: LoraConfig) => planOf(STORED, { ...sizes, lora }).arena.sizes().weights;
  const quantizable = Object.entries(STORED).filter(
    ([, { shape }]) => shape.length === 2 && (shape[1] ?? 0) % 32 === 0,
  );
  // A group of 8 rows is whole.
  const rowsOf = (rows = 0) => Math.ceil(rows / 8) * 8;
  const saved = quantizable.reduce((sum, [name, { shape, data }]) => {
    const isAlone = !/gate_proj|up_proj/.test(name) || (shape[0] ?? 0) % 8 === 0;
    if (!isAlone) return sum;
    return sum + data.length * 2 - (rowsOf(shape[0]) * (shape[1] ?? 0) * 34) / 32;
  }, 0);
  expect(bytesOf(OWN) - bytesOf(LORA)).toBe(saved);
});

/** A config of an adapter of a model in bfloat16. */
function config(lora: LoraConfig) {
  const model = join(scratchDirectory(), "model");
  saveModel(model, STORED, { shape: SHAPE, promptStyle: "message" });
  return tinyConfig({ model, lora, loggingSteps: 1 });
}

const attributesAt = (path: string) => {
  const state = JSON.parse(readFileSync(join(path, "trainer_state.json"), "utf8")) as {
    stateful_callbacks: { Kit: { attributes: Record<string, unknown> } };
  };
  return state.stateful_callbacks.Kit.attributes;
};

async function answer(directory: string, quantize?: "q8_0"): Promise<string> {
  const model = await createEmbeddedEngine().load(directory, { ...(quantize && { quantize }) });
  const { text } = await model.infer({ prompt: "1", maxTokens: 40, temperature: 8, seed: 1 });
  await model.close();
  return text;
}

test("a training has the same losses on any threads, resumes to the bit, and answers as it was trained", async () => {
  const asked = config(LORA);
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.stubEnv("KIT_THREADS", "1");
  const alone = await run(asked);
  vi.stubEnv("KIT_THREADS", "3");
  const whole = await run(asked);
  expect(losses(whole)).toEqual(losses(alone));
  const [half = "", last = ""] = ["step-3", "step-6"].map((step) =>
    join(whole.directory, "artifacts", step),
  );
  const resumed = await run(asked, { resumeFrom: half });
  expect(losses(resumed)).toEqual(losses(whole).slice(3));
  // As of a job that chose the type by itself.
  const chosen = await run({ ...asked, lora: OWN }, { resumeFrom: half });
  expect(losses(chosen)).toEqual(losses(whole).slice(3));
  const own = await run({ ...asked, lora: OWN });
  expect(losses(own)).not.toEqual(losses(whole));

  expect(attributesAt(last)["baseType"]).toBe("q8_0");
  expect(await answer(last)).toBe(await answer(last, "q8_0"));
  const ownLast = join(own.directory, "artifacts/step-6");
  expect(attributesAt(ownLast)["baseType"]).toBeUndefined();
  expect(await answer(ownLast)).not.toBe(await answer(ownLast, "q8_0"));
});
