import { closeSync } from "node:fs";
import { basename, join } from "node:path";
import { isRegularFile, openIfExists, stampAt, writeFileAtomically } from "../disk/file.ts";
import { readRecord, readStampedJson } from "../disk/json.ts";
import { isRecord } from "../protocol/isRecord.ts";
import type { JobConfig } from "../protocol/trainConfig.ts";
import { readJobIds, timeOfJobId } from "./id.ts";
import { jobsPath } from "./paths.ts";

/** Fields of every `job.json`. Its config may be another version's: see `readJobConfig`. */
export interface JobFile {
  id: string;
  name: string;
  createdAt: string;
  /** Whether other machines train the job. */
  elsewhere?: boolean;
}

/** `trainer.json`: a job's trainer as data, written before any process begins the job. */
export interface PlanFile extends JobFile {
  /** Options of `createTrainer`. */
  trainer: Record<string, unknown>;
  /** The body of the HTTP request that planned it, unchanged. */
  request?: Record<string, unknown>;
}

export function writePlan(directory: string, plan: PlanFile): void {
  writeFileAtomically(planPath(directory), `${JSON.stringify(plan, null, 2)}\n`);
}

/** Undefined for a job that a process created itself. */
export function readPlan(directory: string): PlanFile | undefined {
  const plan = readRecord(planPath(directory));
  return isJobFile(plan) && isRecord(plan.trainer) ? plan : undefined;
}

/** Whether no process has begun a job yet. It may have ended. */
export function isPlanned(directory: string): boolean {
  return !isRegularFile(jobFilePath(directory)) && isRegularFile(planPath(directory));
}

/** Writes `job.json`, once, when a job is created. */
export function writeJobFile(directory: string, file: JobFile & { config: JobConfig }): void {
  writeFileAtomically(jobFilePath(directory), `${JSON.stringify(file, null, 2)}\n`);
}

/**
 * Reads a job's `job.json`, or a planned job's `trainer.json`, and its stamp. No `file` when it is missing or invalid.
 * @param invalid the stamp of an invalid file, which is not read again
 */
export function readJobFile(
  directory: string,
  invalid?: string,
): { file?: JobFile; stamp?: string | undefined } {
  const path = isPlanned(directory) ? planPath(directory) : jobFilePath(directory);
  if (invalid !== undefined && invalid === stampAt(path)) return { stamp: invalid };
  const { value, stamp } = readStampedJson(path) ?? {};
  return isJobFile(value) ? { file: withTime(value, directory), stamp } : { stamp };
}

/** @throws KitError `CANNOT_READ` for a `job.json` that this user may not read */
export function assertReadableJobs(project: string): void {
  const root = jobsPath(project);
  for (const id of readJobIds(root)) {
    const file = openIfExists(jobFilePath(join(root, id)));
    if (file !== undefined) closeSync(file);
  }
}

export function isJobDirectory(directory: string): boolean {
  return isRegularFile(jobFilePath(directory)) || isPlanned(directory);
}

/** A job's config, as its Kit version wrote it; undefined without a valid `job.json`. */
export function readJobConfig(directory: string): Record<string, unknown> | undefined {
  const config = readRecord(jobFilePath(directory))?.config;
  return isRecord(config) ? config : undefined;
}

/** Whether other machines train a job, which then skips this machine's queue. */
export function trainsRemotely(directory: string): boolean {
  return readRecord(jobFilePath(directory))?.elsewhere === true;
}

/** The name of the engine that trains a job. */
export function readEngineName(directory: string): string | undefined {
  const engine = readJobConfig(directory)?.engine;
  return isRecord(engine) && typeof engine.name === "string" ? engine.name : undefined;
}

/** Restores a missing time from the folder's name. */
function withTime(file: JobFile, directory: string): JobFile {
  // Browsers parse other formats differently.
  const isTime =
    /^\d{4}-\d\d-\d\dT/.test(file.createdAt) && !Number.isNaN(Date.parse(file.createdAt));
  if (isTime) return file;
  const createdAt = timeOfJobId(basename(directory))?.toISOString() ?? file.createdAt;
  return { ...file, createdAt };
}

function isJobFile(value: unknown): value is PlanFile {
  return isRecord(value) && typeof value.name === "string" && typeof value.createdAt === "string";
}

/** The path of a job's `job.json`, whether or not it exists. */
export function jobFilePath(directory: string): string {
  return join(directory, "job.json");
}

function planPath(directory: string): string {
  return join(directory, "trainer.json");
}
