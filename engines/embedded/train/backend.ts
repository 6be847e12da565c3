import { isKitError } from "../../../protocol/error.ts";
import type { LoraConfig } from "../../../protocol/trainConfig.ts";
import { machineMemory } from "../../dataset/freeMemory.ts";
import { type PlanBackend, BASE_QUANTIZED } from "../../training/backend.ts";
import { batchesOf } from "../../training/batchSizes.ts";
import type { Preparation } from "../../training/preparation.ts";
import { MAX_THREADS } from "../kernels/threadCount.ts";
import { batchLimits } from "../step/batchLimits.ts";
import { type TrainingWorkerInit, createLearner } from "../step/learner.ts";
import { type TrainingPlan, planTraining } from "../step/trainingPlan.ts";

/** The threads of a training run. */
export interface Team {
  /** Maximum threads, including this one. */
  threads: number;
  initWorkers: (init: TrainingWorkerInit) => void;
  /** Called with a text about what the plan decided itself. Default: ignored. */
  onNote?: (text: string) => void;
}

/** The embedded engine as a backend, on this thread and its helpers. */
export function embeddedBackend({ threads, initWorkers, onNote }: Team): PlanBackend {
  return (preparation) => {
    const plan = planFor(preparation, threads, onNote);
    return {
      memoryBytes: plan.arena.sizes().all,
      start: (initial) => createLearner(plan, initial, { initWorkers }),
    };
  };
}

/**
 * Plans a training run's memory. A base that doesn't fit as saved is quantized to q8_0.
 * @throws KitError `OUT_OF_MEMORY`
 */
export function planFor(
  preparation: Preparation,
  threads: number,
  onNote: (text: string) => void = () => {},
): TrainingPlan {
  const { config, start } = preparation;
  const { shape, bfloat16 } = start;
  const { lora, weightDecay, maxGradNorm } = config;
  const batches = batchesOf(preparation);
  function planWith(lora: LoraConfig | undefined, threads: number): TrainingPlan {
    const sizes = { shape, bfloat16, lora, options: { weightDecay, maxGradNorm } };
    return planTraining({ ...sizes, threads, limits: batchLimits(batches, sizes) });
  }
  // Decided for the maximum number of threads, so that losses don't depend on the actual one.
  if (!lora || lora.baseType || fits(() => planWith(lora, MAX_THREADS))) {
    return planWith(lora, threads);
  }
  const plan = planWith({ ...lora, baseType: "q8_0" }, threads);
  onNote(BASE_QUANTIZED);
  return plan;
}

function fits(plan: () => TrainingPlan): boolean {
  try {
    return plan().arena.sizes().all <= machineMemory();
  } catch (error) {
    if (isKitError(error) && error.code === "OUT_OF_MEMORY") return false;
    throw error;
  }
}
