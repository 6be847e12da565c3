import { createRequire } from "node:module";
import { join } from "node:path";
import { availableSimd } from "../../engines/embedded/kernels/simd.ts";
import { threadCount } from "../../engines/embedded/kernels/threadCount.ts";
import type { Dimensions } from "../../engines/families/dimensions.ts";
import { weightShapes } from "../../engines/families/tensorShapes.ts";
import { randomAdapter } from "../../engines/lora/adapter.ts";
import type { TensorSource } from "../../engines/modelFiles/tensors.ts";
import type * as dawn from "../../engines/webgpu/device/dawn.ts";
import type { Dispatch } from "../../engines/webgpu/device/dispatch.ts";
import type { Gpu } from "../../engines/webgpu/device/webgpu.ts";
import type * as learning from "../../engines/webgpu/step/learner.ts";
import type * as planning from "../../engines/webgpu/step/trainingPlan.ts";
import { VERSION } from "../../protocol/version.ts";
import { OPEN_LORA, OPEN_SHAPE, TINY_OPEN_SHAPE } from "../openModel.ts";
import { openProcesses } from "../openProcess.ts";
import { ROOT } from "../paths.ts";
import type { Measured, Row } from "../row.ts";

/** Rows and their tokens, and how often the embedded engine takes the step, which takes it a minute at most. */
const BATCHES: readonly [rows: number, length: number, cpuSteps: number][] = [
  [1, 256, 3],
  [8, 512, 1],
  [8, 1024, 0],
];
const [WARMUP, STEPS] = [2, 5];

/** For a report by someone with a GPU: `npm run bench -- --rows webgpu`. */
export const webgpu: Row = {
  number: 31,
  work: "LoRA steps of SmolLM2-135M's size with `engine: webgpu()`",
  baseline: `the embedded engine's on ${threadCount()} threads`,
  async measure(scope) {
    const isTiny = scope.size === "tiny";
    const batches = scope.pick({
      full: BATCHES,
      quick: BATCHES.slice(0, 1),
      tiny: [[1, 8, 1] as const],
    });
    console.log(await describeGpu());
    const { ours } = openProcesses(scope);
    const lines: Measured[] = [];
    for (const [rows, length, cpuSteps] of batches) {
      const line = await measureBatch(isTiny ? TINY_OPEN_SHAPE : OPEN_SHAPE, rows, length);
      const sizes = { rows, length, threads: threadCount(), simd: availableSimd() };
      const cpu = cpuSteps > 0 ? ours<{ ms: number }>("learn", sizes) : undefined;
      let baseline = Infinity;
      for (let step = 0; step < cpuSteps; step++)
        baseline = Math.min(baseline, (await cpu!.ask()).ms);
      lines.push(cpu ? { ...line, baseline } : line);
    }
    return lines;
  },
};

async function built<T>(path: string): Promise<T> {
  return (await import(join(ROOT, "dist", "engines", "webgpu", path))) as T;
}

async function measureBatch(shape: Dimensions, rows: number, length: number): Promise<Measured> {
  const { openDevice } = await built<typeof dawn>("device/dawn.js");
  const { planTraining, memoryBytes } = await built<typeof planning>("step/trainingPlan.js");
  const { createLearner } = await built<typeof learning>("step/learner.js");
  const device = await openDevice({}, ROOT);
  const tokens = rows * length;
  const plan = planTraining({
    ...{ shape, lora: OPEN_LORA, maxWords: device.maxWords },
    bfloat16: new Set(Object.keys(weightShapes(shape))),
    limits: { tokens, selected: tokens, longest: length },
    options: { weightDecay: 0, maxGradNorm: 1 },
  });
  const trainable = randomAdapter(OPEN_LORA, shape, 1);
  const frozen = madeWeights(shape);
  const learner = await createLearner(device, plan, { trainable, frozen, moments: undefined });
  const sequence = {
    tokens: Uint32Array.from({ length: length + 1 }, (_, i) => (i * 7919) % shape.vocabulary),
    learned: new Uint8Array(length + 1).fill(1, 1),
  };
  const examples = Array.from({ length: rows }, () => ({ sequences: [sequence] }));
  let start = 0;
  for (let step = 1; step <= WARMUP + STEPS; step++) {
    if (step === WARMUP + 1) start = performance.now();
    await learner.backpropagate(examples, 1 / tokens, false);
    await learner.update(step, 1e-4);
  }
  await learner.gradients();
  const ms = (performance.now() - start) / STEPS;
  device.destroy();
  const gflop =
    operations(plan.model.forward, tokens) + operations(plan.model.backward(false), tokens);
  const notes = [
    `${rows} × ${length} on ${device.name}`,
    `${(gflop / 1e9).toFixed(0)} GFLOP in products`,
    `${(memoryBytes(plan) / 2 ** 30).toFixed(2)} GiB`,
  ];
  return { part: notes.join(", "), ours: ms, unit: "ms" };
}

/** What else a report needs, by WebGPU's names. */
async function describeGpu(): Promise<string> {
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

/** Multiplications and additions of the matrix products. */
function operations(calls: readonly Dispatch[], tokens: number): number {
  const products = calls.filter(({ kernel }) => kernel.name.startsWith("matmul"));
  return products.reduce((sum, { params }) => {
    const { M = 0, N = 0, K = 0, first = 0, limit = 0 } = params;
    const rows = Math.max(0, Math.min(limit, tokens - first));
    return sum + 2 * (M || rows) * N * (K || rows);
  }, 0);
}

/** Small numbers in bfloat16. */
function madeWeights(shape: Dimensions): TensorSource {
  const shapes = Object.entries(weightShapes(shape));
  const tensors = new Map(shapes.map(([name, shape]) => [name, { shape, type: "bf16" }]));
  return {
    tensors,
    rows(name, from, to) {
      const columns = tensors.get(name)?.shape.at(-1) ?? 1;
      const words = new Uint16Array((to - from) * columns);
      return words.map((_, i) => (i % 3 === 0 ? 0xbca3 : 0x3c23));
    },
  };
}
