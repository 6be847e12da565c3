import { readJobStart } from "../../jobs/jobStart.ts";
import {
  type ResumePoint,
  findResumePoints,
  findConcurrentResume,
} from "../../jobs/resumePoint.ts";
import { KitError } from "../../protocol/error.ts";
import type { JobConfig } from "../../protocol/trainConfig.ts";
import { changedOptions } from "./config.ts";

/** The checkpoints that a new job can continue from. */
export interface Resume {
  /**
   * Called again while the job waits for its turn.
   * @throws KitError `CANNOT_RESUME` if another job continues the same one
   */
  refuseConcurrent: (ownId: string) => void;
  /**
   * Checkpoints to try, newest first, of a job that may have ended while this one waited. Notes what it
   * found and what has changed.
   * @throws KitError `CANNOT_RESUME`
   */
  find: (note: (text: string) => void) => ResumePoint[];
  /** Step of the newest checkpoint; 0 without any. */
  step: () => number;
}

/**
 * Checks before the job exists, so that foreseeable errors create no failed job.
 * @throws KitError `CANNOT_RESUME`
 */
export function planResume(project: string, name: string, config: JobConfig): Resume {
  const [planned] = findResumePoints(project, name);
  let newest = planned;

  function refuseConcurrent(ownId?: string): void {
    const concurrent = planned && findConcurrentResume(project, name, planned, ownId);
    if (concurrent === undefined) return;
    throw new KitError(
      "CANNOT_RESUME",
      `Job ${concurrent} is resuming job ${planned?.jobId} already. Wait until that one ends, or start without resume.`,
    );
  }

  function find(note: (text: string) => void): ResumePoint[] {
    const found = findResumePoints(project, name);
    [newest] = found;
    if (newest) {
      note(`resuming job ${newest.jobId} after step ${newest.step}`);
      const changed = compareOptions(newest, config).join(", ");
      if (changed) {
        note(
          `warning: ${changed} changed since that job; losses will differ from an uninterrupted run`,
        );
      }
    } else if (planned) {
      throw new KitError(
        "CANNOT_RESUME",
        `Job ${planned.jobId} can no longer be resumed: another job continued it, or it was deleted. Start without resume to begin again.`,
      );
    } else {
      note(
        `nothing to resume: no failed or cancelled job of ${name} has a checkpoint; starting from step 0`,
      );
    }
    return found;
  }

  refuseConcurrent();
  if (planned) compareOptions(planned, config);
  return { refuseConcurrent, find, step: () => newest?.step ?? 0 };
}

/** Changed options that alter the losses. */
function compareOptions(from: ResumePoint, config: JobConfig): string[] {
  const { impossible, other } = changedOptions(readJobStart(from.directory).config, config);
  if (impossible.length > 0) {
    throw new KitError(
      "CANNOT_RESUME",
      `${impossible.join(", ")} changed since job ${from.jobId}, so it cannot be resumed. Undo the change, or start without resume.`,
    );
  }
  refusePast(from, config.maxSteps ?? Infinity);
  return other;
}

/** @throws KitError `CANNOT_RESUME` if the run has fewer steps in total than the checkpoint */
export function refusePast({ jobId, step }: ResumePoint, steps: number): void {
  if (step <= steps) return;
  throw new KitError(
    "CANNOT_RESUME",
    `Job ${jobId} is at step ${step} already, and training now ends at step ${steps}. Raise maxSteps or numTrainEpochs, or start without resume.`,
  );
}
