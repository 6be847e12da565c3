import { closeSync } from "node:fs";
import { basename, join } from "node:path";
import { isPlainFile, openIfThere, stampAt, writeFileAtomically } from "../disk/file.ts";
import { readRecord, readStampedJson } from "../disk/json.ts";
import { isRecord } from "../protocol/isRecord.ts";
import type { JobConfig } from "../protocol/trainConfig.ts";
import { readJobIds, timeOfJobId } from "./id.ts";
import { jobsPath } from "./paths.ts";

/** What every `job.json` has. Its config may be another version's: see `readJobConfig`. */
export interface JobFile {
  id: string;
  name: string;
  createdAt: string;
  /** Whether other machines train it. */
  elsewhere?: boolean;
}

/** Writes `job.json`, once, when a job is created. */
export function writeJobFile(directory: string, file: JobFile & { config: JobConfig }): void {
  writeFileAtomically(jobFilePath(directory), `${JSON.stringify(file, null, 2)}\n`);
}

export interface JobFiles {
  /** Undefined when the file is missing or invalid. Rereads an invalid file only when it changes. */
  read: (directory: string) => JobFile | undefined;
  forget: (directory: string) => void;
}

export function createJobFiles(): JobFiles {
  /** The stamps of invalid files, by directory. */
  const invalid = new Map<string, string>();
  return {
    read(directory) {
      const path = jobFilePath(directory);
      const known = invalid.get(directory);
      if (known !== undefined && known === stampAt(path)) return undefined;
      const { value, stamp } = readStampedJson(path) ?? {};
      if (isJobFile(value)) return withTime(value, directory);
      if (stamp !== undefined) invalid.set(directory, stamp);
      return undefined;
    },
    forget: (directory) => void invalid.delete(directory),
  };
}

/** @throws KitError `CANNOT_READ` for a `job.json` that this user may not read */
export function assertReadableJobs(project: string): void {
  const root = jobsPath(project);
  for (const id of readJobIds(root)) {
    const file = openIfThere(jobFilePath(join(root, id)));
    if (file !== undefined) closeSync(file);
  }
}

/** Whether a directory is a job's. */
export function isJobDirectory(directory: string): boolean {
  return isPlainFile(jobFilePath(directory));
}

/** A job's config as written by its Kit version; undefined when `job.json` is missing or invalid. */
export function readJobConfig(directory: string): Record<string, unknown> | undefined {
  const config = readRecord(jobFilePath(directory))?.config;
  return isRecord(config) ? config : undefined;
}

/** Whether other machines train a job. Such a job is never in this machine's queue. */
export function trainsRemotely(directory: string): boolean {
  return readRecord(jobFilePath(directory))?.elsewhere === true;
}

/** The name of the engine that trains a job. */
export function readEngineName(directory: string): string | undefined {
  const engine = readJobConfig(directory)?.engine;
  return isRecord(engine) && typeof engine.name === "string" ? engine.name : undefined;
}

/** Takes a missing time from the folder's name. */
function withTime(file: JobFile, directory: string): JobFile {
  if (isTime(file.createdAt)) return file;
  const createdAt = timeOfJobId(basename(directory))?.toISOString() ?? file.createdAt;
  return { ...file, createdAt };
}

/** Whether it is an ISO 8601 time, which all browsers read alike. */
export function isTime(text: string): boolean {
  return /^\d{4}-\d\d-\d\dT/.test(text) && !Number.isNaN(Date.parse(text));
}

function isJobFile(value: unknown): value is JobFile {
  return isRecord(value) && typeof value.name === "string" && typeof value.createdAt === "string";
}

/** The path of a job's `job.json`, whether or not it exists. */
export function jobFilePath(directory: string): string {
  return join(directory, "job.json");
}
