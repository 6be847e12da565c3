import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { saveModel } from "../../../engines/checkpoint/checkpoint.ts";
import { dimensionsOf } from "../../../engines/families/dimensions.ts";
import { PROJECTIONS } from "../../../engines/families/projections.ts";
import { weightShapes } from "../../../engines/families/tensorShapes.ts";
import { checkTraining } from "../../../engines/training/checkTraining.ts";
import type { Device } from "../../../engines/webgpu/device/device.ts";
import { planTraining } from "../../../engines/webgpu/step/trainingPlan.ts";
import { webgpuBackend } from "../../../engines/webgpu/train/backend.ts";
import { KitError } from "../../../protocol/error.ts";
import type { TrainConfig } from "../../../protocol/trainConfig.ts";
import { tinyConfig } from "../embedded/run.ts";
import { scratchDirectory } from "../embedded/scratch.ts";
import { TINY, tinyWeights } from "../embedded/tiny.ts";
import { createWebgpuEngine } from "./built.ts";

const LORA = { r: 16, alpha: 32, targetModules: [...PROJECTIONS] };
const MIB_WORDS = 2 ** 18;

/** A GPU with so many bytes of memory, on which nothing runs. */
function deviceOf(bytes: number, options: Partial<Device> = {}) {
  const allocations: number[] = [];
  const device = {
    name: "a GPU",
    sharesMemory: false,
    maxWords: 128 * MIB_WORDS,
    allocate(arrays) {
      const needed = arrays.reduce((sum, { words }) => sum + words * 4, 0);
      allocations.push(needed);
      const error = new KitError("OUT_OF_MEMORY", "The GPU ran out of memory.");
      return needed > bytes ? Promise.reject(error) : Promise.resolve();
    },
    ...options,
  } as Pick<Device, "name" | "sharesMemory" | "maxWords" | "allocate"> as Device;
  return { device, allocations };
}

/** Checks a run on a device. */
async function checked({ device, allocations }: ReturnType<typeof deviceOf>, config: TrainConfig) {
  const notes: string[] = [];
  const onNote = (text: string) => void notes.push(text);
  const source =
    typeof config.model === "object"
      ? ({ kind: "untrained", name: "a shape", dimensions: dimensionsOf(config.model) } as const)
      : ({ kind: "checkpoint", name: "tiny", directory: config.model } as const);
  const planBackend = webgpuBackend(device, onNote);
  const found = await checkTraining({ config, source, planBackend, onNote });
  return { ...found, notes, allocations };
}

const WIDE = { layers: 2, heads: 4, width: 256, context: 48 };

test("a plan is allocated to know that it fits, which is said once with the GPU's limits", async () => {
  const gpu = deviceOf(2 ** 30);
  const { memoryBytes, onGpu, notes, allocations } = await checked(
    gpu,
    tinyConfig({ model: WIDE }),
  );
  expect({ allocations, onGpu }).toEqual({ allocations: [memoryBytes], onGpu: true });
  expect(notes).toEqual([
    expect.stringMatching(
      /^training on a GPU: it fits, with \d+ MiB in buffers of up to 128; answers run on the CPU$/,
    ),
  ]);
  const sharing = deviceOf(2 ** 30, { sharesMemory: true });
  const shared = await checked(sharing, tinyConfig({ model: WIDE }));
  expect(shared.onGpu).toBeUndefined();
  expect(shared.notes[0]).toMatch(/with \d+ of the machine's [\d,]+ MiB in buffers/);
});

test("a base that doesn't fit as it was saved becomes q8_0, and what still doesn't fit is one sentence", async () => {
  const config = tinyConfig({ model: WIDE, lora: LORA });
  const { memoryBytes } = await checked(deviceOf(2 ** 30), config);
  const { allocations, ...found } = await checked(deviceOf(memoryBytes - 1), config);
  expect(allocations).toEqual([memoryBytes, found.memoryBytes]);
  expect(found.notes).toEqual([
    'the base does not fit in memory as it was saved; lora.baseType is "q8_0"',
    expect.stringMatching(/^training on a GPU: it fits/),
  ]);
  await expect(checked(deviceOf(1), config)).rejects.toThrow(
    /^Training needs 0\.\d\d GiB of memory \(weights .*, gradients .*\), but a GPU has less\. Lower maxLength/,
  );
});

test("on a GPU that shares the machine's memory, nothing larger is allocated", async () => {
  const gpu = deviceOf(Infinity, { sharesMemory: true, maxWords: 2 ** 30 });
  const model = { layers: 8, heads: 128, width: 2 ** 15, context: 48 };
  await expect(checked(gpu, tinyConfig({ model }))).rejects.toThrow(
    /^Training needs \d+\.\d\d GiB of memory \(.*\), but a GPU shares this machine's [\d.]+ GiB\./,
  );
  expect(gpu.allocations).toEqual([]);
});

/** As Gemma 3 with a billion weights, but two layers. */
const GEMMA = dimensionsOf({
  ...{ layers: 2, heads: 4, kvHeads: 1, headDim: 256, width: 1152, intermediateSize: 6912 },
  ...{ context: 32_768, vocabulary: 262_144, family: "gemma3_text" },
});
const ALL_BFLOAT16 = new Set(Object.keys(weightShapes(GEMMA)));

test.each([
  ["whole, in float32", undefined, undefined],
  ["as a base in bfloat16", LORA, ALL_BFLOAT16],
  ["as a base in q8_0", { ...LORA, baseType: "q8_0" as const }, ALL_BFLOAT16],
])("262,144 × 1,152 words %s, logits and moments are in parts of 128 MiB", (_, lora, bfloat16) => {
  const maxWords = 128 * MIB_WORDS;
  const { arrays, model } = planTraining({
    ...{ shape: GEMMA, lora, bfloat16, maxWords },
    limits: { tokens: 1024, selected: 1024, longest: 1024 },
    options: { weightDecay: 0, maxGradNorm: 1 },
  });
  expect(Math.max(...arrays.arrays.map(({ words }) => words))).toBeLessThanOrEqual(maxWords);
  const calls = [...model.forward, ...model.loss, ...model.backward(false)];
  for (const { arrays } of calls) {
    for (const { from, words, array } of Object.values(arrays)) {
      expect(from % 64).toBe(0);
      expect(from + words).toBeLessThanOrEqual(array.words);
    }
  }
  const covered = (name: string) =>
    (model.tensors.trained[name] ?? []).reduce((sum, { words }) => sum + words, 0);
  if (!lora) expect(covered("model.embed_tokens.weight")).toBe(262_144 * 1152);
});

test("a row whose activations exceed the largest buffer is one sentence", () => {
  const limits = { tokens: 32_768, selected: 32_768, longest: 32_768 };
  const options = { weightDecay: 0, maxGradNorm: 1 };
  const sizes = { shape: GEMMA, lora: LORA, bfloat16: ALL_BFLOAT16, limits, options };
  expect(() => planTraining({ ...sizes, maxWords: 128 * MIB_WORDS })).toThrow(
    "The GPU's largest buffer is 0.13 GiB, but 32768 tokens of this model need one of 1.69. Lower maxLength.",
  );
});

/** A saved model whose config claims something else. */
function hostile(changes: object): string {
  const path = join(scratchDirectory(), "hostile");
  saveModel(path, tinyWeights(), { shape: TINY, promptStyle: "message" });
  const file = join(path, "config.json");
  const config = JSON.parse(readFileSync(file, "utf8")) as object;
  writeFileSync(file, JSON.stringify({ ...config, ...changes }));
  return path;
}

test.each([
  ...[1e9, 2 ** 31, 2 ** 32, 0, -16, 16.5, 1e300, "16"].map((hidden_size) => ({ hidden_size })),
  ...[2 ** 32, 2 ** 31, 0, -1].map((vocab_size) => ({ vocab_size })),
  ...[0, -1, 1.5, 1e9].map((num_hidden_layers) => ({ num_hidden_layers })),
  ...[3, 2 ** 30].map((num_attention_heads) => ({ num_attention_heads })),
  ...[3, 0].map((num_key_value_heads) => ({ num_key_value_heads })),
  ...[2 ** 31, 7, -2].map((head_dim) => ({ head_dim })),
  ...[1e12, 0].map((intermediate_size) => ({ intermediate_size })),
  { max_position_embeddings: -1 },
])("a config with %j is one sentence, before anything is allocated", async (changes) => {
  const gpu = deviceOf(Infinity);
  const config = tinyConfig({ model: hostile(changes), lora: LORA });
  await expect(checked(gpu, config)).rejects.toThrow(/^[^\n]+\.$/);
  expect(gpu.allocations).toEqual([]);
});

/** A project whose package webgpu is this code. */
function projectWith(code: string): string {
  const project = scratchDirectory();
  const folder = join(project, "node_modules/webgpu");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "type": "module", "main": "index.js" }');
  writeFileSync(join(folder, "index.js"), code);
  return project;
}

const PRINTED =
  "Warning: Vulkan abc required.\\n - While initializing adapter (backend=BackendType::Vulkan)\\n";

test.each([
  [
    "a package that doesn't run",
    "throw new Error('no dawn.node');",
    /^The package webgpu doesn't run here \(no dawn\.node\)\. It is made for/,
  ],
  [
    "no driver",
    "export const create = () => ({ requestAdapter: async () => null });",
    /^webgpu\(\) found no GPU \(no driver of Metal, Direct3D 12 or Vulkan answers\)\. Install or update its driver with libvulkan1, libegl1 and libxext6, or/,
  ],
  [
    "a driver that lacks something",
    `process.stderr.write("MESA: hm\\n${PRINTED}"); export const create = () => ({ requestAdapter: async () => null });`,
    /^webgpu\(\) found no GPU \(a driver lacks what WebGPU needs: Vulkan abc required\)\. Install or update/,
  ],
])("%s is one sentence", async (_, code, message) => {
  const engine = createWebgpuEngine({}, projectWith(code));
  const failed = engine.check({ config: { ...tinyConfig(), engine: { name: "webgpu" } } });
  await expect(failed).rejects.toThrow(message);
});
