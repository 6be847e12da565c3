import type { ResumePoint } from "../../jobs/resumePoint.ts";
import { assertUndamaged } from "../../jobs/undamagedCheckpoint.ts";
import type { Engine, RemoteLocation, TrainOptions } from "../../protocol/engine.ts";
import { asEngineEvent } from "../../protocol/engineReport.ts";
import { KitError, isKitError, messageOf, readToResume } from "../../protocol/error.ts";
import type { EngineEvent } from "../../protocol/event.ts";

export interface RunEngineOptions extends Pick<
  TrainOptions,
  "config" | "directory" | "resumeFrom" | "signal" | "detachSignal" | "onNote" | "onRemote"
> {
  /** Aborted once training is over, possibly before the engine starts. */
  trainingEnded: AbortController;
  /** Called with each validated report. @returns whether training ends with it */
  onEvent: (event: EngineEvent) => boolean;
  /** Called with an error of `onEvent` or an invalid report; later reports are dropped. */
  onError: (error: unknown) => void;
}

/** Trains until the engine is done or training is over. */
export async function runEngine(
  engine: Pick<Engine, "name" | "train">,
  { signal, trainingEnded, onEvent, onError, ...options }: RunEngineOptions,
): Promise<void> {
  let hasFailed = false;
  function onReport(reported: unknown) {
    if (trainingEnded.signal.aborted || hasFailed) return;
    try {
      if (onEvent(asEngineEvent(engine.name, reported))) trainingEnded.abort();
    } catch (error) {
      hasFailed = true;
      onError(error);
    }
  }
  try {
    const stoppable = AbortSignal.any([signal, trainingEnded.signal]);
    await engine.train({ ...options, signal: stoppable, onEvent: onReport });
  } catch (error) {
    if (!trainingEnded.signal.aborted) throw error;
  }
  // The engine may resolve even though its reports were rejected.
  signal.throwIfAborted();
}

export interface TrainFromOptions extends Omit<
  RunEngineOptions,
  "resumeFrom" | "onEvent" | "onRemote"
> {
  onNote: (text: string) => void;
  /** As for `runEngine`, with the checkpoint that the run continues. */
  onEvent: (event: EngineEvent, from: ResumePoint | undefined) => boolean;
  onRemote: (location: RemoteLocation, from: ResumePoint | undefined) => void;
}

/**
 * Like `runEngine`, from the first undamaged checkpoint; from the beginning without any.
 * @throws KitError `CANNOT_RESUME` when all are damaged
 */
export async function trainFrom(
  checkpoints: readonly ResumePoint[],
  engine: Parameters<typeof runEngine>[0],
  { onEvent, onRemote, ...options }: TrainFromOptions,
): Promise<void> {
  const [from, next] = checkpoints;
  try {
    if (from) readToResume(() => assertUndamaged(from));
    return await runEngine(engine, {
      ...options,
      resumeFrom: from?.checkpoint,
      onEvent: (event) => onEvent(event, from),
      onRemote: (location) => onRemote(location, from),
    });
  } catch (error) {
    if (!from || !isKitError(error) || error.code !== "RESUME_INVALID") throw error;
    if (!next) {
      throw new KitError(
        "CANNOT_RESUME",
        `Every checkpoint of job ${from.jobId} is damaged: ${messageOf(error)} Start without resume.`,
      );
    }
    options.onNote(
      `warning: skipping a damaged checkpoint, and resuming after step ${next.step}: ${messageOf(error)}`,
    );
    return trainFrom(checkpoints.slice(1), engine, { onEvent, onRemote, ...options });
  }
}
