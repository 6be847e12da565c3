import { basename, join } from "node:path";
import type { TrainConfig } from "../protocol/trainConfig.ts";
import { readJson, writeFileAtomically } from "../disk/file.ts";
import { timeOfJobId } from "./id.ts";

/** `job.json`: what is written once when a job is made. */
export interface JobFile {
  id: string;
  name: string;
  createdAt: string;
  config: TrainConfig;
}

export function writeJobFile(directory: string, file: JobFile): void {
  writeFileAtomically(pathIn(directory), `${JSON.stringify(file, null, 2)}\n`);
}

/** Undefined when it is missing or no job's. Where it holds no time, the folder's name tells it. */
export function readJobFile(directory: string): JobFile | undefined {
  const file = readJson(pathIn(directory));
  if (!isJobFile(file)) return undefined;
  if (isTime(file.createdAt)) return file;
  const createdAt = timeOfJobId(basename(directory))?.toISOString() ?? file.createdAt;
  return { ...file, createdAt };
}

/** Whether it is an ISO 8601 time, which every browser reads the same. */
export function isTime(text: string): boolean {
  return /^\d{4}-\d\d-\d\dT/.test(text) && !Number.isNaN(Date.parse(text));
}

function isJobFile(value: unknown): value is JobFile {
  const file = value as Partial<JobFile> | null | undefined;
  return typeof file?.name === "string" && typeof file.createdAt === "string";
}

function pathIn(directory: string): string {
  return join(directory, "job.json");
}
