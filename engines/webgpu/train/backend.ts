import { KitError } from "../../../protocol/error.ts";
import type { PlanBackend } from "../../training/backend.ts";
import { batchSizes, batchesOf } from "../../training/batchSizes.ts";
import type { Preparation } from "../../training/preparation.ts";
import type { Device } from "../device/device.ts";
import { MAX_HEAD_DIM } from "../kernels/attention.ts";
import { createLearner } from "../step/learner.ts";
import { type TrainingPlan, isModerate, memoryBytes, planTraining } from "../step/trainingPlan.ts";

/** Minimum tokens of a micro-batch, enough to keep a GPU busy. */
const MIN_TOKENS = 2048;

/** Training on a GPU as a backend. */
export function webgpuBackend(device: Device): PlanBackend {
  return (preparation) => {
    const plan = planFor(preparation, device.maxWords);
    return {
      memoryBytes: memoryBytes(plan),
      start: (initial) => createLearner(device, plan, initial),
    };
  };
}

/** @throws KitError `CHECKPOINT_INVALID`, `OUT_OF_MEMORY` */
function planFor(preparation: Preparation, maxWords: number): TrainingPlan {
  const { config, start } = preparation;
  const { shape, bfloat16 } = start;
  if (shape.headDim > MAX_HEAD_DIM) {
    throw new KitError(
      "CHECKPOINT_INVALID",
      `${start.source.name} has heads of ${shape.headDim}, and webgpu() supports up to ${MAX_HEAD_DIM}. Use another model, or remove engine: webgpu().`,
    );
  }
  const { lora, weightDecay, maxGradNorm } = config;
  const sizesWith = (limits: { tokens: number; longest: number }) => ({
    shape,
    bfloat16,
    lora,
    maxWords,
    limits: { ...limits, selected: limits.tokens },
    options: { weightDecay, maxGradNorm },
  });
  const { tokens, longest } = batchSizes(batchesOf(preparation), {
    minTokens: MIN_TOKENS,
    isModerate: ({ tokens, longest }) => isModerate(sizesWith({ tokens, longest })),
  });
  return planTraining(sizesWith({ tokens, longest }));
}
