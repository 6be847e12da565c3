import type { PlanBackend } from "../../training/backend.ts";
import type { Preparation } from "../../training/preparation.ts";
import { batchLimits } from "../step/batchLimits.ts";
import { type HelperInvitation, createLearner } from "../step/learner.ts";
import { type TrainingPlan, planTraining } from "../step/trainingPlan.ts";

/** The threads of a training. */
export interface Team {
  /** At most, this one among them. */
  threads: number;
  invite: (invitation: HelperInvitation) => void;
}

/** The embedded engine as a backend, on this thread and its helpers. */
export function embeddedBackend({ threads, invite }: Team): PlanBackend {
  return (preparation) => {
    const plan = planFor(preparation, threads);
    return (initial) => createLearner(plan, initial, { invite });
  };
}

/**
 * The memory of a training.
 * @throws KitError `OUT_OF_MEMORY`
 */
export function planFor(
  { config, start, data, steps }: Preparation,
  threads: number,
): TrainingPlan {
  const { shape, bfloat16 } = start;
  const { lora, weightDecay, maxGradNorm } = config;
  const sizes = { shape, bfloat16, lora, options: { weightDecay, maxGradNorm } };
  const batches = {
    training: data.training.examples,
    evaluation: data.evaluation?.examples,
    ...{ rows: config.batchSize, seed: config.seed },
    count: steps * config.gradientAccumulationSteps,
  };
  return planTraining({ ...sizes, threads, limits: batchLimits(batches, sizes) });
}
