import type { CheckOptions } from "../protocol/engine.ts";
import { asTrainingCheck } from "../protocol/engineReport.ts";
import { messageOf } from "../protocol/error.ts";
import type { JobConfig, TrainConfig } from "../protocol/trainConfig.ts";
import type { RepeatedRows, TrainingCheck } from "../protocol/trainingCheck.ts";
import { materializeDatasets, makeCheckFolder, removeCheckFolder } from "./engine.ts";
import { withRestoredLocations, resolveConfig } from "./job/config.ts";
import { type TrainingTime, measureTime } from "./job/trainingTime.ts";
import { type DrivenTrainer, DRIVER } from "./trainer.ts";

interface CheckTrainingOptions extends Omit<CheckOptions, "config"> {
  /** Called before the engine's check, once all rows of the project's code are there. */
  onRows?: () => void;
  /** Called before steps are timed, on other threads or in a subprocess. */
  onTiming?: () => void;
  isUntimed?: boolean;
}

/** `time` is undefined for remote training and, with a note, if it can't be measured. */
type CheckResult = TrainingCheck & { config: TrainConfig; time?: TrainingTime };

/** Checks a trainer's job in a project without creating it. */
export async function checkTraining(
  {
    [DRIVER]: {
      prepared: { engine, config: prepared, code },
    },
  }: DrivenTrainer,
  project: string,
  {
    onNote = () => {},
    onRows = () => {},
    onTiming = () => {},
    isUntimed = false,
    ...options
  }: CheckTrainingOptions,
): Promise<CheckResult> {
  const config = resolveConfig(prepared, project);
  const directory = makeCheckFolder();
  const remove = () => removeCheckFolder(directory);
  // The project's code may end the process.
  process.once("exit", remove);
  try {
    const materialized = await materializeDatasets(config, { code, directory, onNote, ...options });
    onRows();
    const { restoreLocations } = materialized;
    const checkOptions = {
      ...options,
      config: materialized.config,
      onNote: (text: string) => onNote(restoreLocations(text)),
    };
    let reported: unknown;
    try {
      reported = await engine.check(checkOptions);
    } catch (error) {
      throw withRestoredLocations(error, restoreLocations);
    }
    const check = asTrainingCheck(engine.name, reported);
    if (!isUntimed) onTiming();
    const time = engine.remote || isUntimed ? undefined : await timeOf(check, materialized.config);
    return { config, ...withLocations(check, restoreLocations), ...(time && { time }) };
  } finally {
    process.off("exit", remove);
    remove();
  }

  async function timeOf(check: TrainingCheck, ready: JobConfig): Promise<TrainingTime | undefined> {
    const { signal = new AbortController().signal } = options;
    try {
      const { memoryBytes, onGpu } = check;
      if (!onGpu && memoryBytes > process.availableMemory())
        throw new Error("too little free memory");
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

/** A check with the original row locations instead of those in the temporary folder. */
function withLocations(
  { dataset, hardest, ...check }: TrainingCheck,
  restoreLocations: (text: string) => string,
): TrainingCheck {
  const restored = ({ rows, first }: RepeatedRows): RepeatedRows => ({
    rows,
    ...(first && { first: [restoreLocations(first[0]), restoreLocations(first[1])] }),
  });
  const { duplicates, leaked, json } = dataset ?? {};
  return {
    ...check,
    ...(dataset && {
      dataset: {
        ...dataset,
        ...(duplicates && { duplicates: restored(duplicates) }),
        ...(leaked && { leaked: restored(leaked) }),
        ...(json?.first !== undefined && {
          json: { ...json, first: restoreLocations(json.first) },
        }),
      },
    }),
    ...(hardest && {
      hardest: hardest.map((row) => ({ ...row, where: restoreLocations(row.where) })),
    }),
  };
}
