import { expect, test } from "vitest";
import { randomAdapter } from "../../../engines/lora/adapter.ts";
import { bfloat16Of, inMemoryTensors } from "../../../engines/modelFiles/tensors.ts";
import { createDevice } from "../../../engines/webgpu/device/device.ts";
import type { GpuDevice } from "../../../engines/webgpu/device/webgpu.ts";
import { createLearner } from "../../../engines/webgpu/step/learner.ts";
import { planTraining } from "../../../engines/webgpu/step/trainingPlan.ts";
import { initialOf } from "../embedded/learner.ts";
import { TINY, tinySequences, tinyWeights } from "../embedded/tiny.ts";

const LORA = { r: 2, alpha: 4, targetModules: ["q_proj", "down_proj"] };

/** A GPU that computes nothing but zeros, and the commands that reach it. */
function countingGpu() {
  const submitted: object[] = [];
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
      mapAsync: () => Promise.resolve(),
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

test("a step's commands are one submission, with the update of the step before", async () => {
  const { gpu, submitted } = countingGpu();
  const device = createDevice(gpu, "a GPU");
  const weights = tinyWeights();
  const plan = planTraining({
    ...{ shape: TINY, lora: LORA, maxWords: device.maxWords },
    bfloat16: bfloat16Of(inMemoryTensors(weights)),
    limits: { tokens: 16, selected: 16, longest: 8 },
    options: { weightDecay: 0, maxGradNorm: 1 },
  });
  const adapter = randomAdapter(LORA, TINY, 1);
  const learner = await createLearner(device, plan, initialOf(weights, { adapter }));
  const examples = tinySequences([8, 8], 3).map((sequence) => ({ sequences: [sequence] }));
  for (let step = 1; step <= 3; step++) {
    await learner.backpropagate(examples, 1, false);
    expect(submitted).toHaveLength(step);
    await learner.gradNorm();
    await learner.update(step, 1e-3);
    expect(submitted).toHaveLength(step);
  }
});
