import { expect, test } from "vitest";
import type * as arenas from "../../../../engines/embedded/kernels/arena.ts";
import type * as learning from "../../../../engines/embedded/train/learner.ts";
import type * as planning from "../../../../engines/embedded/train/trainingPlan.ts";
import { randomAdapter } from "../../../../engines/llama/adapter.ts";
import type { LoraConfig, ModelShape } from "../../../../protocol/trainConfig.ts";
import { builtModule } from "../built.ts";
import { TINY, tinyBatch, tinyWeights } from "../tiny.ts";

const { GUARD_BYTES } = await builtModule<typeof arenas>("kernels/arena.js");
const { createLearner } = await builtModule<typeof learning>("train/learner.js");
const { planTraining } = await builtModule<typeof planning>("train/trainingPlan.js");

const GUARD = 0x5aa5c33c;
const WORDS = GUARD_BYTES / 4;
const OPTIONS = { weightDecay: 0.01, maxGradNorm: 1 };
const LORA: LoraConfig = { r: 3, alpha: 6, targetModules: ["q_proj", "v_proj", "down_proj"] };
const [ROWS, LENGTH] = [3, 7];

function planOf(shape: ModelShape, rows: number, length: number, lora: LoraConfig | null = null) {
  return planTraining({ shape, rows, length, lora, threads: 1, options: OPTIONS });
}

test.each([null, LORA])("a step writes to no place outside of its arrays: %j", (lora) => {
  const plan = planOf(TINY, ROWS, LENGTH, lora);
  const adapter = lora && randomAdapter(lora, TINY, 1);
  let memory: WebAssembly.Memory | undefined;
  const learner = createLearner(adapter ?? tinyWeights(), adapter ? tinyWeights() : {}, plan, {
    invite: (seat) => (memory = seat.memory),
  });
  if (!memory) throw new Error("nobody was invited");
  const { buffer } = memory;
  const size = buffer.byteLength;
  const guards = plan.arena.regions.flatMap(({ address, bytes }) => {
    const end = Math.ceil((address + bytes) / 4) * 4;
    const before = new Int32Array(buffer, address - GUARD_BYTES, WORDS);
    return [before, new Int32Array(buffer, end, WORDS - 1)];
  });
  expect(guards.length).toBeGreaterThan(100);
  for (const words of guards) words.fill(GUARD);
  for (let step = 1; step <= 5; step++) learner.learn([tinyBatch(ROWS, LENGTH)], step, 1e-2);
  expect(guards.filter((words) => words.some((word) => word !== GUARD))).toEqual([]);
  // No step allocates: the memory is as large as it was.
  expect(buffer.byteLength).toBe(size);
});

test("arrays lie apart", () => {
  const regions = planOf(TINY, ROWS, LENGTH).arena.regions;
  regions.slice(1).forEach(({ address }, i) => {
    const before = regions[i];
    expect(address - (before?.address ?? 0) - (before?.bytes ?? 0)).toBeGreaterThanOrEqual(
      GUARD_BYTES,
    );
  });
});

test("what does not fit in 4 GiB is one sentence with the sizes and what to lower, at once", () => {
  const shape = { layers: 12, heads: 12, width: 768, context: 2048 };
  expect(() => planOf(shape, 16, 2048)).toThrow(
    /^The model needs \d+\.\d\d GiB of memory \(work 0\.00, weights 0\.32, gradients 0\.32, activations \d+\.\d\d, moments 0\.63\), but WebAssembly has only 4\. Lower batchSize, maxLength or the model's width or layers\.$/,
  );
  expect(planOf(shape, 1, 256).arena.size()).toBeLessThan(2 ** 32);
});
