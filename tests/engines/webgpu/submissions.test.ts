import { expect, test } from "vitest";
import { resolveModel } from "../../../engines/families/modelSource.ts";
import { randomAdapter } from "../../../engines/lora/adapter.ts";
import { bfloat16Of, inMemoryTensors } from "../../../engines/modelFiles/tensors.ts";
import { type LogProbs, numberOf } from "../../../engines/training/backend.ts";
import { train } from "../../../engines/training/train.ts";
import { createDevice } from "../../../engines/webgpu/device/device.ts";
import type { GpuDevice } from "../../../engines/webgpu/device/webgpu.ts";
import { createLearner } from "../../../engines/webgpu/step/learner.ts";
import { planTraining } from "../../../engines/webgpu/step/trainingPlan.ts";
import { webgpuBackend } from "../../../engines/webgpu/train/backend.ts";
import type { EngineEvent } from "../../../protocol/event.ts";
import { initialOf } from "../embedded/learner.ts";
import { tinyConfig } from "../embedded/run.ts";
import { scratchDirectory } from "../embedded/scratch.ts";
import { TINY, tinySequences, tinyWeights } from "../embedded/tiny.ts";

const LORA = { r: 2, alpha: 4, targetModules: ["q_proj", "down_proj"] };

/**
 * A GPU that computes nothing but zeros, and what it does in turn.
 * @param lastRead the device is lost after it
 */
function countingGpu(lastRead = Infinity) {
  const done: string[] = [];
  let reads = 0;
  let latest = Promise.resolve();
  /** Later than the loop goes on with an earlier read. */
  async function computed(): Promise<void> {
    if (++reads > lastRead) throw new Error("lost");
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setTimeout(resolve, 0));
  }
  const nothing = () => ({});
  const gpu = {
    limits: { maxBufferSize: 2 ** 28, maxStorageBufferBindingSize: 2 ** 27 },
    lost: new Promise(() => {}),
    queue: {
      submit: (commands: object[]) => done.push(...commands.map(() => "submit")),
      writeBuffer: nothing,
      onSubmittedWorkDone: () => Promise.resolve(),
    },
    createBuffer: ({ size }: { size: number }) => ({
      size,
      mapAsync: () => (latest = latest.then(computed)),
      getMappedRange(_: number, bytes: number) {
        done.push("read");
        return new ArrayBuffer(bytes);
      },
      unmap: nothing,
      destroy: nothing,
    }),
    ...Object.fromEntries(
      ["ShaderModule", "BindGroupLayout", "PipelineLayout", "ComputePipeline", "BindGroup"].map(
        (name) => [`create${name}`, nothing],
      ),
    ),
    createCommandEncoder: () => ({
      beginComputePass: () => ({
        setPipeline: nothing,
        setBindGroup: nothing,
        dispatchWorkgroups: nothing,
        end: nothing,
      }),
      copyBufferToBuffer: nothing,
      clearBuffer: nothing,
      finish: nothing,
    }),
    pushErrorScope: nothing,
    popErrorScope: () => Promise.resolve(undefined),
    destroy: nothing,
  };
  return { gpu: gpu as unknown as GpuDevice, done };
}

async function learnerOn({ gpu }: ReturnType<typeof countingGpu>) {
  const device = createDevice(gpu, "a GPU");
  const weights = tinyWeights();
  const plan = planTraining({
    ...{ shape: TINY, lora: LORA, maxWords: device.maxWords },
    bfloat16: bfloat16Of(inMemoryTensors(weights)),
    limits: { tokens: 16, selected: 16, longest: 8 },
    options: { weightDecay: 0, maxGradNorm: 1 },
  });
  const adapter = randomAdapter(LORA, TINY, 1);
  return createLearner(device, plan, initialOf(weights, { adapter }));
}

function examplesOf(lengths: readonly number[]) {
  return tinySequences(lengths, 3).map((sequence) => ({ sequences: [sequence] }));
}

const ones = (logProbs: LogProbs) =>
  logProbs.map((sequences) => sequences.map((tokens) => tokens.map(() => 1)));

// Node ends a process for a rejection that nobody handles, and vitest fails.
test.each([
  [1, ones],
  [2, ones],
  [1, 1],
  [2, 1],
])("a device lost at read %s of two micro-batches is one error", async (read, weigh) => {
  const learner = await learnerOn(countingGpu(read - 1));
  const backpropagate = async () =>
    numberOf(await learner.backpropagate(examplesOf([8, 8, 8, 8]), weigh, false));
  await expect(backpropagate()).rejects.toMatchObject({ code: "WORKER_FAILED" });
});

test("a step's commands are one submission, from its batch to its update", async () => {
  const gpu = countingGpu();
  const learner = await learnerOn(gpu);
  const examples = examplesOf([8, 8]);
  for (let step = 1; step <= 3; step++) {
    await learner.backpropagate(examples, 1, false);
    await learner.gradNorm();
    expect(gpu.done).toHaveLength(step - 1);
    await learner.update(step, 1e-3);
    expect(gpu.done).toHaveLength(step);
  }
});

/** Trains for five steps, of which the first two and the last are logged, and only the last is saved. */
async function trainOn({ gpu }: ReturnType<typeof countingGpu>) {
  const config = tinyConfig({ maxSteps: 5, loggingSteps: 100, saveSteps: 100 });
  const source = resolveModel(config.model);
  if (source.kind === "hub") throw new Error("a shape is trained here");
  const planBackend = webgpuBackend(createDevice(gpu, "a GPU"));
  const events: string[] = [];
  const onEvent = ({ event }: EngineEvent) => void events.push(event);
  await train(config, scratchDirectory(), { source, planBackend, onEvent });
  return events;
}

test("a step that isn't logged is read once the next one is submitted, and before a third is", async () => {
  const gpu = countingGpu();
  await trainOn(gpu);
  // The loss and the norm.
  const reads = ["read", "read"];
  const logged = ["submit", ...reads];
  const rest = ["submit", "submit", ...reads, "submit", ...reads, ...reads];
  expect(gpu.done.slice(0, 15)).toEqual([...logged, ...logged, ...rest]);
});

test.each([1, 4, 5, 6, 7, 9])(
  "a device lost at read %s of a training is one error",
  async (last) => {
    await expect(trainOn(countingGpu(last - 1))).rejects.toMatchObject({
      code: "WORKER_FAILED",
      message: expect.stringMatching(/^The GPU stopped working \(it stopped answering\)\. Run kit/),
    });
  },
);
