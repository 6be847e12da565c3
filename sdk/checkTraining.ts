import type { CheckOptions } from "../protocol/engine.ts";
import { asTrainingCheck } from "../protocol/engineReport.ts";
import type { TrainConfig } from "../protocol/trainConfig.ts";
import type { TrainingCheck } from "../protocol/trainingCheck.ts";
import { resolveConfig } from "./runner/config.ts";
import { type DrivenTrainer, DRIVER } from "./trainer.ts";

/** Checks a trainer's job in a project without creating it. */
export async function checkTraining(
  {
    [DRIVER]: {
      prepared: { engine, config: prepared },
    },
  }: DrivenTrainer,
  project: string,
  options: Omit<CheckOptions, "config">,
): Promise<TrainingCheck & { config: TrainConfig }> {
  const config = resolveConfig(prepared, project);
  return { config, ...asTrainingCheck(engine.name, await engine.check({ config, ...options })) };
}
