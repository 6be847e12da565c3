import { type ErrorCode, KitError, isKitError } from "../../../protocol/error.ts";
import { formatCount, formatGibibytes } from "../../../protocol/format.ts";
import type { LoraConfig } from "../../../protocol/trainConfig.ts";
import { machineMemory } from "../../dataset/freeMemory.ts";
import { type PlanBackend, BASE_QUANTIZED } from "../../training/backend.ts";
import { batchSizes, batchesOf } from "../../training/batchSizes.ts";
import { formatMemory } from "../../training/formatMemory.ts";
import type { Preparation } from "../../training/preparation.ts";
import { WORD_BYTES } from "../device/array.ts";
import type { Device } from "../device/device.ts";
import { MAX_HEAD_DIM } from "../kernels/attentionTiles.ts";
import { createLearner } from "../step/learner.ts";
import {
  type TrainingPlan,
  fitsBuffers,
  isModerate,
  memoryBytes,
  planTraining,
} from "../step/trainingPlan.ts";

/** Minimum tokens of a micro-batch that fit in a buffer, enough to keep a GPU busy. */
const MIN_TOKENS = 2048;

/** Training on a GPU as a backend. WebGPU doesn't report free memory, so the plan is allocated to know that it fits. */
export function webgpuBackend(
  device: Device,
  onNote: (text: string) => void = () => {},
): PlanBackend {
  return async (preparation) => {
    const plan = await reserveMemory(device, preparation, onNote);
    const bytes = memoryBytes(plan);
    const shared = device.sharesMemory ? ` of the machine's ${mebibytes(machineMemory())}` : "";
    const largest = mebibytes(device.maxWords * WORD_BYTES);
    onNote(
      `training on ${device.name}: it fits, with ${mebibytes(bytes)}${shared} MiB in buffers of up to ${largest}; answers run on the CPU`,
    );
    if (device.isSoftware) {
      onNote(
        `warning: ${device.name} is a GPU in software, slower than the embedded engine; remove engine: webgpu()`,
      );
    }
    return {
      memoryBytes: bytes,
      ...(!device.sharesMemory && { onGpu: true }),
      start: (initial) => createLearner(device, plan, initial),
    };
  };
}

/** A base that doesn't fit as saved is quantized to q8_0. @throws KitError `CHECKPOINT_INVALID`, `OUT_OF_MEMORY` */
async function reserveMemory(
  device: Device,
  preparation: Preparation,
  onNote: (text: string) => void,
): Promise<TrainingPlan> {
  const { lora } = preparation.config;
  try {
    return await allocated(device, planFor(preparation, device, lora));
  } catch (error) {
    if (!lora || lora.baseType || !hasCode(error, "OUT_OF_MEMORY")) throw error;
  }
  const plan = planFor(preparation, device, { ...lora, baseType: "q8_0" });
  await allocated(device, plan);
  onNote(BASE_QUANTIZED);
  return plan;
}

/** Allocates a plan. @throws KitError `OUT_OF_MEMORY` with the sizes */
async function allocated(device: Device, plan: TrainingPlan): Promise<TrainingPlan> {
  const bytes = memoryBytes(plan);
  const machine = machineMemory();
  const needed = `Training needs ${formatMemory(bytes, plan.arrays.sizes())}, but ${device.name}`;
  if (device.sharesMemory && bytes > machine) {
    const shared = `${needed} shares this machine's ${formatGibibytes(machine)} GiB`;
    throw new KitError("OUT_OF_MEMORY", `${shared}. ${ADVICE}`);
  }
  try {
    await device.allocate(plan.arrays.arrays);
    return plan;
  } catch (cause) {
    if (!hasCode(cause, "OUT_OF_MEMORY")) throw cause;
    throw new KitError("OUT_OF_MEMORY", `${needed} has less. ${ADVICE}`, { cause });
  }
}

const ADVICE =
  "Lower maxLength, train an adapter (lora) of a smaller model, or end other programs that use the GPU.";

function mebibytes(bytes: number): string {
  return formatCount(Math.ceil(bytes / 2 ** 20));
}

function hasCode(error: unknown, code: ErrorCode): boolean {
  return isKitError(error) && error.code === code;
}

/** @throws KitError `CHECKPOINT_INVALID`, `OUT_OF_MEMORY` */
function planFor(
  preparation: Preparation,
  { maxWords }: Device,
  lora: LoraConfig | undefined,
): TrainingPlan {
  const { config, start } = preparation;
  const { shape, bfloat16 } = start;
  if (shape.headDim > MAX_HEAD_DIM) {
    throw new KitError(
      "CHECKPOINT_INVALID",
      `${start.source.name} has heads of ${shape.headDim}, and webgpu() supports up to ${MAX_HEAD_DIM}. Use another model, or remove engine: webgpu().`,
    );
  }
  const { weightDecay, maxGradNorm } = config;
  const sizesWith = (limits: { tokens: number; longest: number }) => ({
    shape,
    bfloat16,
    lora,
    maxWords,
    limits: { ...limits, selected: limits.tokens },
    options: { weightDecay, maxGradNorm },
  });
  const { longest, largestExample, ...sizes } = batchSizes(batchesOf(preparation), {
    minTokens: MIN_TOKENS,
    isModerate: ({ tokens, longest }) => isModerate(sizesWith({ tokens, longest })),
  });
  let { tokens } = sizes;
  while (tokens > largestExample && !fitsBuffers(sizesWith({ tokens, longest })))
    tokens = Math.max(largestExample, Math.ceil(tokens / 2));
  return planTraining(sizesWith({ tokens, longest }));
}
