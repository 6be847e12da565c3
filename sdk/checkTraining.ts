import type { CheckOptions } from "../protocol/engine.ts";
import { asTrainingCheck } from "../protocol/engineReport.ts";
import { messageOf } from "../protocol/error.ts";
import type { JobConfig, TrainConfig } from "../protocol/trainConfig.ts";
import type { RepeatedRows, TrainingCheck } from "../protocol/trainingCheck.ts";
import { freezeDatasets, makeCheckFolder, removeCheckFolder } from "./engine.ts";
import { placedError, resolveConfig } from "./job/config.ts";
import { type TrainingTime, measureTime } from "./job/trainingTime.ts";
import { type DrivenTrainer, DRIVER } from "./trainer.ts";

interface CheckTrainingOptions extends Omit<CheckOptions, "config"> {
  /** Called before the engine checks, when the project's code has made its rows. */
  onRows?: () => void;
  /** Called before steps are timed, on other threads or in another process. */
  onTiming?: () => void;
}

/** `time` is undefined on other machines, and where it can't be measured, with a note. */
type Checked = TrainingCheck & { config: TrainConfig; time?: TrainingTime };

/** Checks a trainer's job in a project without creating it. */
export async function checkTraining(
  {
    [DRIVER]: {
      prepared: { engine, config: prepared, code },
    },
  }: DrivenTrainer,
  project: string,
  { onNote = () => {}, onRows = () => {}, onTiming = () => {}, ...options }: CheckTrainingOptions,
): Promise<Checked> {
  const config = resolveConfig(prepared, project);
  const directory = makeCheckFolder();
  const remove = () => removeCheckFolder(directory);
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
    const check = asTrainingCheck(engine.name, reported);
    onTiming();
    const time = engine.remote ? undefined : await timeOf(check, frozen.config);
    return { config, ...withPlaces(check, inPlaces), ...(time && { time }) };
  } finally {
    process.off("exit", remove);
    remove();
  }

  async function timeOf(check: TrainingCheck, ready: JobConfig): Promise<TrainingTime | undefined> {
    const { signal = new AbortController().signal } = options;
    try {
      if (check.memoryBytes > process.availableMemory()) throw new Error("less memory is free");
      return await measureTime({
        engine,
        config: ready,
        started: check.started,
        directory,
        signal,
      });
    } catch (error) {
      signal.throwIfAborted();
      onNote(`could not estimate the training time: ${messageOf(error)}`);
      return undefined;
    }
  }
}

/** A check with the rows' own locations instead of those in the temporary folder. */
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
