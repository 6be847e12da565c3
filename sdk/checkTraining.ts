import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CheckOptions } from "../protocol/engine.ts";
import { asTrainingCheck } from "../protocol/engineReport.ts";
import type { TrainConfig } from "../protocol/trainConfig.ts";
import type { TrainingCheck } from "../protocol/trainingCheck.ts";
import { freezeDatasets } from "./engine.ts";
import { resolveConfig } from "./runner/config.ts";
import { type DrivenTrainer, DRIVER } from "./trainer.ts";

/** Checks a trainer's job in a project without creating it. */
export async function checkTraining(
  {
    [DRIVER]: {
      prepared: { engine, config: prepared, code },
    },
  }: DrivenTrainer,
  project: string,
  { onNote = () => {}, ...options }: Omit<CheckOptions, "config">,
): Promise<TrainingCheck & { config: TrainConfig }> {
  const config = resolveConfig(prepared, project);
  const directory = mkdtempSync(join(tmpdir(), "kit-check-"));
  try {
    const ready = await freezeDatasets(config, { code, directory, onNote, ...options });
    const reported = await engine.check({ ...options, onNote, config: ready });
    return { config, ...asTrainingCheck(engine.name, reported) };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
