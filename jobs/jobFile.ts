import { join } from "node:path";
import type { TrainConfig } from "../protocol/trainConfig.ts";
import { readJson, writeFileAtomically } from "../disk/file.ts";

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

/** Undefined when it is missing or no job's. */
export function readJobFile(directory: string): JobFile | undefined {
  const file = readJson(pathIn(directory));
  return isJobFile(file) ? file : undefined;
}

function isJobFile(value: unknown): value is JobFile {
  const file = value as Partial<JobFile> | null | undefined;
  return typeof file?.name === "string" && typeof file.createdAt === "string";
}

function pathIn(directory: string): string {
  return join(directory, "job.json");
}
