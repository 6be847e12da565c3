import { cpSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { readFirstRecord } from "../jobs/logHead.ts";
import { jobsPath, logPath } from "../jobs/paths.ts";
import { createJobStore } from "../jobs/store.ts";
import { ARTIFACTS, checkpointFolder } from "../protocol/artifactPath.ts";
import type { EngineEvent } from "../protocol/event.ts";
import { isRecord } from "../protocol/isRecord.ts";
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
      if (from !== undefined) ended.add(from);
    } else if (job.status === "failed" || job.status === "cancelled") {
      const step = checkpointSteps(join(directory, ARTIFACTS)).at(-1) ?? 0;
      const checkpoint = join(directory, ARTIFACTS, checkpointFolder(step));
      if (step > 0) return { jobId: job.id, directory, step, checkpoint };
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

/** Options that change how a training goes on. Others, such as saveSteps, do not. */
const DECISIVE = [
  ...([
    "model",
    "dataset",
    "evalSplit",
    "lora",
    "maxLength",
    "maxSteps",
    "numTrainEpochs",
  ] as const),
  ...(["batchSize", "gradientAccumulationSteps", "learningRate", "lrSchedulerType"] as const),
  ...(["warmupSteps", "weightDecay", "maxGradNorm", "seed", "engine"] as const),
] satisfies (keyof JobConfig)[];

/** The options that differ from the job's, by their names. */
function changedOptions({ directory }: Resumable, config: JobConfig): string[] {
  const file = readJson(join(directory, "job.json"));
  const before = file["config"];
  if (!isRecord(before)) return [];
  const now = JSON.parse(JSON.stringify(config)) as Record<string, unknown>;
  return DECISIVE.filter((name) => !isDeepStrictEqual(before[name], now[name]));
}

/** An evaluation of the job, by its checkpoint's `trainer_state.json`. */
export interface Evaluation {
  step: number;
  evalLoss: number;
}

/** Those up to the checkpoint, in their order. */
export function evaluationsOf({ checkpoint }: Resumable): Evaluation[] {
  const history = readJson(join(checkpoint, "trainer_state.json"))["log_history"];
  if (!Array.isArray(history)) return [];
  return (history as Record<string, unknown>[]).flatMap((entry) => {
    const { step, eval_loss: evalLoss } = entry;
    return typeof step === "number" && typeof evalLoss === "number" ? [{ step, evalLoss }] : [];
  });
}

/**
 * Copies the checkpoint with the lowest `evalLoss` into the job that goes on, so that it can be that
 * job's best. @returns its step; undefined without one
 */
export function copyBest(from: Resumable, to: string): number | undefined {
  const there = new Set(checkpointSteps(join(from.directory, ARTIFACTS)));
  const candidates = evaluationsOf(from).filter(({ step }) => there.has(step));
  const [best] = candidates.toSorted((a, b) => a.evalLoss - b.evalLoss || a.step - b.step);
  if (!best) return undefined;
  const folder = checkpointFolder(best.step);
  const partial = join(to, ARTIFACTS, `.${folder}.partial`);
  cpSync(join(from.directory, ARTIFACTS, folder), partial, { recursive: true });
  renameSync(partial, join(to, ARTIFACTS, folder));
  return best.step;
}

/** Says in its start what a job goes on from. */
export function withResumed(event: EngineEvent, resumed: Resumable | undefined): EngineEvent {
  if (!resumed || event.event !== "training.started") return event;
  const { jobId: resumedFrom, step: resumedStep } = resumed;
  return { ...event, data: { ...event.data, resumedFrom, resumedStep } };
}

function resumedFrom(directory: string): string | undefined {
  const { event, data } = readFirstRecord(logPath(directory)) ?? {};
  const from = event === "training.started" && isRecord(data) ? data["resumedFrom"] : undefined;
  return typeof from === "string" ? from : undefined;
}

/** Empty for a file that is missing or damaged. */
function readJson(path: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    return isRecord(value) ? value : {};
  } catch {
    // It says nothing.
    return {};
  }
}
