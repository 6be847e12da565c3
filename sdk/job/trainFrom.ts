import type { ResumePoint } from "../../jobs/resumePoint.ts";
import { assertUndamaged } from "../../jobs/undamagedCheckpoint.ts";
import { KitError, isKitError, messageOf, readToResume } from "../../protocol/error.ts";
import type { EngineEvent } from "../../protocol/event.ts";
import type { RemoteLocation } from "../../protocol/remoteLocation.ts";
import { type RunEngineOptions, runEngine } from "./runEngine.ts";

export interface TrainFromOptions extends Omit<
  RunEngineOptions,
  "resumeFrom" | "onEvent" | "onRemote"
> {
  onNote: (text: string) => void;
  /** As `runEngine`'s; also takes the checkpoint that the training goes on from. */
  onEvent: (event: EngineEvent, from: ResumePoint | undefined) => boolean;
  onRemote: (location: RemoteLocation, from: ResumePoint | undefined) => void;
}

/**
 * As `runEngine`, from the first checkpoint that is whole; from the beginning if there is none to try.
 * @throws KitError `CANNOT_RESUME` when all are damaged
 */
export async function trainFrom(
  checkpoints: readonly ResumePoint[],
  engine: Parameters<typeof runEngine>[0],
  { onEvent, onRemote, ...options }: TrainFromOptions,
): Promise<boolean> {
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
