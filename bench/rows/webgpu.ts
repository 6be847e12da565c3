import { join } from "node:path";
import { type Dimensions, dimensionsOf } from "../../engines/families/dimensions.ts";
import { weightShapes } from "../../engines/families/tensorShapes.ts";
import { randomAdapter } from "../../engines/lora/adapter.ts";
import type { TensorSource } from "../../engines/modelFiles/tensors.ts";
import type * as dawn from "../../engines/webgpu/device/dawn.ts";
import type { Dispatch } from "../../engines/webgpu/device/dispatch.ts";
import type * as learning from "../../engines/webgpu/step/learner.ts";
import type * as planning from "../../engines/webgpu/step/trainingPlan.ts";
import { ROOT } from "../paths.ts";
import type { Measured, Row } from "../row.ts";

/** As SmolLM2-135M. */
const SHAPE = dimensionsOf({
  ...{ layers: 30, heads: 9, kvHeads: 3, width: 576, intermediateSize: 1536, context: 8192 },
  vocabulary: 49_152,
});
const TINY = dimensionsOf({ layers: 1, heads: 2, width: 16, context: 64 });
const TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"];
const LORA = { r: 16, alpha: 32, targetModules: TARGETS };
/** Rows and their tokens. */
const BATCHES: readonly [rows: number, length: number][] = [
  [1, 256],
  [8, 512],
  [8, 1024],
];
const [WARMUP, STEPS] = [2, 5];

/** For a report by someone with a GPU: `npm run bench -- --rows webgpu`. */
export const webgpu: Row = {
  number: 29,
  work: "LoRA steps of SmolLM2-135M's size with `engine: webgpu()`",
  async measure(scope) {
    const shape = scope.pick({ full: SHAPE, quick: SHAPE, tiny: TINY });
    const batches = scope.pick({
      full: BATCHES,
      quick: BATCHES.slice(0, 1),
      tiny: [[1, 8] as const],
    });
    const lines: Measured[] = [];
    for (const [rows, length] of batches) lines.push(await measureBatch(shape, rows, length));
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
    ...{ shape, lora: LORA, maxWords: device.maxWords },
    bfloat16: new Set(Object.keys(weightShapes(shape))),
    limits: { tokens, selected: tokens, longest: length },
    options: { weightDecay: 0, maxGradNorm: 1 },
  });
  const trainable = randomAdapter(LORA, shape, 1);
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
    `largest buffer ${((device.maxWords * 4) / 2 ** 30).toFixed(2)} GiB`,
  ];
  return { part: notes.join(", "), ours: ms, unit: "ms" };
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
