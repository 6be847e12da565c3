import { expect, test } from "vitest";
import { randomAdapter } from "../../../engines/lora/adapter.ts";
import { bfloat16Of, inMemoryTensors } from "../../../engines/modelFiles/tensors.ts";
import type { LogProbs } from "../../../engines/training/backend.ts";
import { createDevice } from "../../../engines/webgpu/device/device.ts";
import type { GpuDevice } from "../../../engines/webgpu/device/webgpu.ts";
import { createLearner } from "../../../engines/webgpu/step/learner.ts";
import { planTraining } from "../../../engines/webgpu/step/trainingPlan.ts";
import { initialOf } from "../embedded/learner.ts";
import { TINY, tinySequences, tinyWeights } from "../embedded/tiny.ts";

const LORA = { r: 2, alpha: 4, targetModules: ["q_proj", "down_proj"] };

/** A GPU that computes nothing but zeros, and the commands that reach it. */
function countingGpu(lastRead = Infinity) {
  const submitted: object[] = [];
  let reads = 0;
  const nothing = () => ({});
  const gpu = {
    limits: { maxBufferSize: 2 ** 28, maxStorageBufferBindingSize: 2 ** 27 },
    lost: new Promise(() => {}),
    queue: {
      submit: (commands: object[]) => submitted.push(...commands),
      writeBuffer: nothing,
      onSubmittedWorkDone: () => Promise.resolve(),
    },
    createBuffer: ({ size }: { size: number }) => ({
      size,
      mapAsync: () => (++reads > lastRead ? Promise.reject(new Error("lost")) : Promise.resolve()),
      getMappedRange: (_: number, bytes: number) => new ArrayBuffer(bytes),
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
  return { gpu: gpu as unknown as GpuDevice, submitted };
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

// Node ends a process for a rejection that nobody handles, and vitest fails.
test.each([1, 2, 3])("a device lost at read %s of two micro-batches is one error", async (read) => {
  const learner = await learnerOn(countingGpu(read - 1));
  const weigh = (logProbs: LogProbs) =>
    logProbs.map((sequences) => sequences.map((tokens) => tokens.map(() => 1)));
  const failed = learner.backpropagate(examplesOf([8, 8, 8, 8]), weigh, false);
  await expect(failed).rejects.toMatchObject({ code: "WORKER_FAILED" });
});

test("a step's commands are one submission, with the update of the step before", async () => {
  const gpu = countingGpu();
  const learner = await learnerOn(gpu);
  const { submitted } = gpu;
  const examples = examplesOf([8, 8]);
  for (let step = 1; step <= 3; step++) {
    await learner.backpropagate(examples, 1, false);
    expect(submitted).toHaveLength(step);
    await learner.gradNorm();
    await learner.update(step, 1e-3);
    expect(submitted).toHaveLength(step);
  }
});
