import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CheckOptions } from "../protocol/engine.ts";
import { asTrainingCheck } from "../protocol/engineReport.ts";
import type { TrainConfig } from "../protocol/trainConfig.ts";
import type { RepeatedRows, TrainingCheck } from "../protocol/trainingCheck.ts";
import { freezeDatasets } from "./engine.ts";
import { resolveConfig } from "./runner/config.ts";
import { placedError } from "./runner/placedError.ts";
import { type DrivenTrainer, DRIVER } from "./trainer.ts";

interface CheckTrainingOptions extends Omit<CheckOptions, "config"> {
  /** Called before the engine checks, when the project's code has made its rows. */
  onRows?: () => void;
}

/** Checks a trainer's job in a project without creating it. */
export async function checkTraining(
  {
    [DRIVER]: {
      prepared: { engine, config: prepared, code },
    },
  }: DrivenTrainer,
  project: string,
  { onNote = () => {}, onRows = () => {}, ...options }: CheckTrainingOptions,
): Promise<TrainingCheck & { config: TrainConfig }> {
  const config = resolveConfig(prepared, project);
  const directory = mkdtempSync(join(tmpdir(), "kit-check-"));
  const remove = () => rmSync(directory, { recursive: true, force: true });
  // The project's code may end the process.
  process.once("exit", remove);
  try {
    const frozen = await freezeDatasets(config, { code, directory, onNote, ...options });
    onRows();
    const { inPlaces } = frozen;
    const asked = {
      ...options,
      config: frozen.config,
      onNote: (text: string) => onNote(inPlaces(text)),
    };
    let reported: unknown;
    try {
      reported = await engine.check(asked);
    } catch (error) {
      throw placedError(error, inPlaces);
    }
    return { config, ...withPlaces(asTrainingCheck(engine.name, reported), inPlaces) };
  } finally {
    process.off("exit", remove);
    remove();
  }
}

/** A check that names the rows' own places, where the engine named those in a folder that is gone. */
function withPlaces(
  { dataset, hardest, ...check }: TrainingCheck,
  inPlaces: (text: string) => string,
): TrainingCheck {
  const placed = ({ rows, first }: RepeatedRows): RepeatedRows => ({
    rows,
    ...(first && { first: [inPlaces(first[0]), inPlaces(first[1])] }),
  });
  const { duplicates, leaked, json } = dataset ?? {};
  return {
    ...check,
    ...(dataset && {
      dataset: {
        ...dataset,
        ...(duplicates && { duplicates: placed(duplicates) }),
        ...(leaked && { leaked: placed(leaked) }),
        ...(json?.first !== undefined && { json: { ...json, first: inPlaces(json.first) } }),
      },
    }),
    ...(hardest && { hardest: hardest.map((one) => ({ ...one, where: inPlaces(one.where) })) }),
  };
}
