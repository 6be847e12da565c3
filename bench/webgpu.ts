import { createRequire } from "node:module";
import { createRandom } from "../engines/dataset/random.ts";
import type { Example } from "../engines/examples/examples.ts";
import type { Dimensions } from "../engines/families/dimensions.ts";
import { weightShapes } from "../engines/families/tensorShapes.ts";
import { randomAdapter } from "../engines/lora/adapter.ts";
import { type TensorSource, columnsOf } from "../engines/modelFiles/tensors.ts";
import { type Late, numberOf } from "../engines/training/backend.ts";
import type * as dawn from "../engines/webgpu/device/dawn.ts";
import type { Device } from "../engines/webgpu/device/device.ts";
import type { Dispatch } from "../engines/webgpu/device/dispatch.ts";
import type { Gpu } from "../engines/webgpu/device/webgpu.ts";
import type * as learning from "../engines/webgpu/step/learner.ts";
import type * as planning from "../engines/webgpu/step/trainingPlan.ts";
import { VERSION } from "../protocol/version.ts";
import { OPTIONS } from "./engine.ts";
import { OPEN_LORA, OPEN_SEED } from "./openShape.ts";
import { ROOT, built } from "./paths.ts";
import { median } from "./statistics.ts";

/** A model and its batch. */
export interface BatchSizes {
  shape: Dimensions;
  rows: number;
  /** Tokens per row. */
  length: number;
}

const ENGINE = "engines/webgpu";
/** Timed rounds after a warm-up; a round has as many steps as fit in this time, at least one, or the maximum. */
const [ROUNDS, ROUND_MS, MAX_STEPS] = [5, 300, 10];

/** @param take takes this many steps. @returns the median time of a step in ms */
export async function timeSteps(take: (steps: number) => Promise<number>): Promise<number> {
  await take(2);
  const steps = Math.min(MAX_STEPS, Math.max(1, Math.floor(ROUND_MS / (await take(1)))));
  const times: number[] = [];
  while (times.length < ROUNDS) times.push(await take(steps));
  return median(times);
}

/** Measures steps of `engine: webgpu()`. */
export async function measureWebgpu(sizes: BatchSizes) {
  const { openDevice } = await built<typeof dawn>(`${ENGINE}/device/dawn.js`);
  const device = await openDevice({}, ROOT);
  try {
    return await measureOn(device, sizes);
  } finally {
    device.destroy();
  }
}

async function measureOn(device: Device, { shape, rows, length }: BatchSizes) {
  const { planTraining, memoryBytes } = await built<typeof planning>(
    `${ENGINE}/step/trainingPlan.js`,
  );
  const { createLearner } = await built<typeof learning>(`${ENGINE}/step/learner.js`);
  const tokens = rows * length;
  const frozen = createWeights(shape);
  const plan = planTraining({
    ...{ shape, lora: OPEN_LORA, maxWords: device.maxWords, options: OPTIONS },
    bfloat16: new Set(frozen.tensors.keys()),
    limits: { tokens, selected: tokens, longest: length },
  });
  const trainable = randomAdapter(OPEN_LORA, shape, OPEN_SEED);
  const learner = await createLearner(device, plan, { trainable, frozen, moments: undefined });
  const batch = createBatch({ shape, rows, length });
  const encodingTimes: number[] = [];
  let step = 0;
  const ms = await timeSteps(async (steps) => {
    const losses: Late[] = [];
    const start = performance.now();
    for (let i = 0; i < steps; i++) {
      const begin = performance.now();
      losses.push(await learner.backpropagate(batch, 1 / tokens, false));
      await learner.update(++step, 1e-4);
      encodingTimes.push(performance.now() - begin);
    }
    await Promise.all(losses.map(numberOf));
    return (performance.now() - start) / steps;
  });
  const { forward, backward } = plan.model;
  return {
    ms,
    encodingMs: median(encodingTimes),
    megabytes: memoryBytes(plan) / 1e6,
    gflop: operations([...forward, ...backward(false)], tokens) / 1e9,
  };
}

/** Rows of which each token is learned. */
export function createBatch({ shape, rows, length }: BatchSizes): Example[] {
  const learned = new Uint8Array(length + 1).fill(1, 1);
  return Array.from({ length: rows }, (_, row) => {
    const idAt = (index: number) => ((row * length + index) * 7919) % shape.vocabulary;
    const tokens = Uint32Array.from({ length: length + 1 }, (_, index) => idAt(index));
    return { sequences: [{ tokens, learned }] };
  });
}

/** A frozen base of a million random numbers, repeated, which takes no memory. */
export function createWeights(shape: Dimensions): TensorSource {
  const { uniform } = createRandom(OPEN_SEED, "weights");
  const floats = Float32Array.from({ length: 2 ** 20 }, () => 0.06 * (uniform() - 0.5));
  const numbers = new Uint16Array(floats.buffer).filter((_, index) => index % 2 === 1);
  const shapes = Object.entries(weightShapes(shape));
  const tensors = new Map(shapes.map(([name, shape]) => [name, { shape, type: "bf16" }]));
  return {
    tensors,
    rows(name, from, to) {
      const words = new Uint16Array((to - from) * columnsOf(tensors.get(name)!.shape));
      for (let at = 0; at < words.length; at += numbers.length)
        words.set(numbers.subarray(0, words.length - at), at);
      return words;
    },
  };
}

/** Multiplications and additions of the matrix products. */
function operations(calls: readonly Dispatch[], tokens: number): number {
  const products = calls.filter(({ kernel }) => kernel.name.startsWith("matmul"));
  return products.reduce((sum, { params }) => {
    const { M = 0, N = 0, K = 0, first = 0, limit = 0 } = params;
    const rows = Math.max(0, Math.min(limit, tokens - first));
    return sum + 2 * (M || rows) * N * (K || rows);
  }, 0);
}

/** What else a report needs, by WebGPU's names. */
export async function describeGpu(): Promise<string> {
  const { create } = (await import("webgpu")) as unknown as { create: (options: string[]) => Gpu };
  const gpu = create([]);
  const adapter = await gpu.requestAdapter({ powerPreference: "high-performance" });
  // Dawn crashes if an unused object is collected.
  KEPT.push(gpu, adapter);
  if (!adapter) return "GPU: none";
  const { vendor, architecture, device, description } = adapter.info;
  const limits = LIMITS.map((limit) => `${limit} ${adapter.limits[limit]}`);
  const { version } = createRequire(import.meta.url)("webgpu/package.json") as { version: string };
  return [
    `GPU: vendor ${vendor}, architecture ${architecture}, device ${device}, ${description}`,
    `Features: ${[...adapter.features].sort().join(" ")}`,
    `Limits: ${limits.join(", ")}`,
    `Packages: kit ${VERSION}, webgpu ${version}; ${process.platform} ${process.arch}, Node ${process.version}`,
  ].join("\n");
}

const KEPT: unknown[] = [];
const LIMITS = [
  ...["maxBufferSize", "maxStorageBufferBindingSize", "maxStorageBuffersPerShaderStage"],
  ...["maxComputeWorkgroupStorageSize", "maxComputeInvocationsPerWorkgroup"],
];
