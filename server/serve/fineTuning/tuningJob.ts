import { join } from "node:path";
import { checkpointSteps } from "../../../jobs/artifactFiles.ts";
import { isPlanned, readPlan } from "../../../jobs/jobFile.ts";
import { checkedAt } from "../../../jobs/plannedJob.ts";
import type { JobStore } from "../../../jobs/store.ts";
import { ARTIFACTS } from "../../../protocol/artifactPath.ts";
import { isRecord } from "../../../protocol/isRecord.ts";
import type { JobRequest } from "./jobRequest.ts";

const PREFIX = "ft-";
/** The end of a checkpoint's name. */
const CHECKPOINT = /:ckpt-step-\d+$/;
const STATUSES = {
  queued: "queued",
  running: "running",
  completed: "succeeded",
  failed: "failed",
  cancelled: "cancelled",
} as const;

/** A fine-tuning job's state, from its files. */
export interface TuningJob {
  /** The job's id in `.kit`. */
  id: string;
  /** Absolute path of the job's directory. */
  directory: string;
  request: JobRequest;
  status: "validating_files" | (typeof STATUSES)[keyof typeof STATUSES];
  createdAt: string;
  /** When it passed the check of its files. */
  checkedAt: Date | undefined;
  /** Why it failed. */
  error: string | undefined;
}

/** A job's id in OpenAI's API. */
export function apiId(id: string): string {
  return PREFIX + id;
}

/** A job's id in `.kit`; invalid for anything but an id of the API. */
export function kitId(id: string): string {
  return id.startsWith(PREFIX) ? id.slice(PREFIX.length) : "";
}

/** Undefined for a job that the API did not create. */
export function readTuningJob(jobs: JobStore, id: string): TuningJob | undefined {
  const state = jobs.get(id);
  if (!state) return undefined;
  const directory = jobs.directoryOf(id);
  const request = readPlan(directory)?.request;
  if (!isJobRequest(request)) return undefined;
  const { job, error } = state;
  const checked = checkedAt(directory);
  const isChecking = checked === undefined && job.status === "queued" && isPlanned(directory);
  return {
    id,
    directory,
    request,
    status: isChecking ? "validating_files" : STATUSES[job.status],
    createdAt: job.createdAt,
    checkedAt: checked,
    error,
  };
}

/** Whether a record has what reading a job needs. */
function isJobRequest(record: Record<string, unknown> = {}): record is JobRequest & typeof record {
  const { model, training_file, method } = record;
  const hasNames = typeof model === "string" && typeof training_file === "string";
  return hasNames && isRecord(method) && isRecord(method.hyperparameters);
}

/** All of a project, newest first. */
export function readTuningJobs(jobs: JobStore): TuningJob[] {
  return jobs.list().flatMap(({ id }) => readTuningJob(jobs, id) ?? []);
}

export function hasEnded({ status }: Pick<TuningJob, "status">): boolean {
  return status === "succeeded" || status === "failed" || status === "cancelled";
}

/** The name that serves a job's result. */
export function modelName({ id, request: { model, suffix } }: TuningJob): string {
  const [, base = model] = /^ft:(.+):[^:]*:[^:]*$/.exec(model.replace(CHECKPOINT, "")) ?? [];
  return `ft:${base}:${suffix ?? ""}:${id}`;
}

/** The name that serves a job's checkpoint. */
export function checkpointName(job: TuningJob, step: number): string {
  return `${modelName(job)}:ckpt-step-${step}`;
}

/** The steps of a job's checkpoints that are still there. */
export function stepsOf({ directory }: TuningJob): number[] {
  return checkpointSteps(join(directory, ARTIFACTS));
}

/** Unix time, in seconds. */
export function unixTime(time: string | number | Date): number {
  return Math.floor(new Date(time).getTime() / 1000);
}
