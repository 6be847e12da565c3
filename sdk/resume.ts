import { cpSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { readEvaluations } from "../jobs/evaluations.ts";
import { readJobConfig } from "../jobs/jobFile.ts";
import { jobsPath } from "../jobs/paths.ts";
import { resumedFrom } from "../jobs/resumedFrom.ts";
import { createJobStore } from "../jobs/store.ts";
import { ARTIFACTS, checkpointFolder, partialFolder } from "../protocol/artifactPath.ts";
import { cannotWrite } from "../protocol/cannotWrite.ts";
import type { EngineEvent } from "../protocol/event.ts";
import { type Evaluation, bestOf } from "../protocol/evaluation.ts";
import type { JobConfig } from "../protocol/trainConfig.ts";
import { checkpointSteps } from "./findArtifact.ts";

/** A job that did not end, and its newest checkpoint. */
export interface Resumable {
  jobId: string;
  /** Absolute path of the job's directory. */
  directory: string;
  /** Of the checkpoint. */
  step: number;
  /** Absolute path of the checkpoint. */
  checkpoint: string;
}

/**
 * The newest job of a trainer that failed or was cancelled and has a checkpoint. One that a completed
 * job went on from counts as ended.
 */
function findResumable(project: string, name: string): Resumable | undefined {
  const ended = new Set<string>();
  for (const job of createJobStore(project).list()) {
    if (job.name !== name) continue;
    const directory = join(jobsPath(project), job.id);
    if (job.status === "completed" || ended.has(job.id)) {
      const from = resumedFrom(directory);
      if (from) ended.add(from.id);
    } else if (job.status === "failed" || job.status === "cancelled") {
      const step = checkpointSteps(join(directory, ARTIFACTS)).at(-1) ?? 0;
      const checkpoint = join(directory, ARTIFACTS, checkpointFolder(step));
      // Of a job that went on from another, an earlier one is that job's best, which was copied.
      const isOwn = step > (resumedFrom(directory)?.step ?? 0);
      if (isOwn) return { jobId: job.id, directory, step, checkpoint };
    }
  }
  return undefined;
}

/** As `findResumable`; says what it found and what has changed since. */
export function resumeOrSay(
  project: string,
  name: string,
  config: JobConfig,
  note: (text: string) => void,
): Resumable | undefined {
  const found = findResumable(project, name);
  if (!found) {
    note(
      `nothing to resume: no failed or cancelled job of ${name} has a checkpoint; starting from step 0`,
    );
    return undefined;
  }
  const { jobId, step } = found;
  note(`resuming job ${jobId} after step ${step}`);
  const changed = changedOptions(found, config).join(", ");
  if (changed)
    note(
      `warning: ${changed} changed since that job; losses will differ from an uninterrupted run`,
    );
  return found;
}

/** Whether an option changes how a training goes on. */
const IS_DECISIVE: Record<keyof JobConfig, boolean> = {
  model: true,
  dataset: true,
  evalDataset: true,
  evalSplit: true,
  lora: true,
  maxLength: true,
  maxSteps: true,
  numTrainEpochs: true,
  batchSize: true,
  gradientAccumulationSteps: true,
  learningRate: true,
  lrSchedulerType: true,
  warmupSteps: true,
  weightDecay: true,
  maxGradNorm: true,
  seed: true,
  engine: true,
  loggingSteps: false,
  evalSteps: false,
  saveSteps: false,
  saveTotalLimit: false,
  loadBestModelAtEnd: false,
  metricForBestModel: false,
  earlyStoppingPatience: false,
  resume: false,
};

/** The decisive options that differ from the job's, by their names. */
function changedOptions({ directory }: Resumable, config: JobConfig): string[] {
  const before = readJobConfig(directory);
  if (!before) return [];
  const now = JSON.parse(JSON.stringify(config)) as Record<string, unknown>;
  return Object.entries(IS_DECISIVE).flatMap(([name, isDecisive]) =>
    isDecisive && !isDeepStrictEqual(before[name] ?? undefined, now[name]) ? [name] : [],
  );
}

/** Those up to the checkpoint, in their order. */
export function evaluationsOf({ directory, jobId, step }: Resumable): Evaluation[] {
  return readEvaluations(dirname(directory), jobId, step);
}

/**
 * Copies the checkpoint with the lowest `evalLoss` into the job that goes on, so that it can be that
 * job's best.
 * @returns its step; undefined without one
 * @throws KitError `CANNOT_WRITE`
 */
export function copyBest(from: Resumable, to: string): number | undefined {
  const there = new Set(checkpointSteps(join(from.directory, ARTIFACTS)));
  const best = bestOf(evaluationsOf(from).filter(({ step }) => there.has(step)));
  if (!best) return undefined;
  const folder = checkpointFolder(best.step);
  const partial = join(to, ARTIFACTS, partialFolder(folder));
  try {
    cpSync(join(from.directory, ARTIFACTS, folder), partial, { recursive: true });
    renameSync(partial, join(to, ARTIFACTS, folder));
  } catch (error) {
    throw cannotWrite(`copy the best checkpoint to ${to}`, error);
  }
  return best.step;
}

/** Says in its start what a job goes on from. */
export function withResumed(event: EngineEvent, resumed: Resumable | undefined): EngineEvent {
  if (!resumed || event.event !== "training.started") return event;
  const { jobId: resumedFrom, step: resumedStep } = resumed;
  const resumedBest = bestOf(evaluationsOf(resumed));
  const from = { resumedFrom, resumedStep, ...(resumedBest && { resumedBest }) };
  return { ...event, data: { ...event.data, ...from } };
}
