import { basename, join } from "node:path";
import type { TrainConfig } from "../protocol/trainConfig.ts";
import { readStampedJson, stampAt, writeFileAtomically } from "../disk/file.ts";
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

export interface JobFiles {
  /** Undefined when it is missing or no job's. One that is no job's is read again once it changes. */
  read: (directory: string) => JobFile | undefined;
  forget: (directory: string) => void;
}

export function createJobFiles(): JobFiles {
  /** The stamps of files that were read and are no job's. */
  const useless = new Map<string, string>();
  return {
    read(directory) {
      const path = pathIn(directory);
      const known = useless.get(directory);
      if (known !== undefined && known === stampAt(path)) return undefined;
      const { value, stamp } = readStampedJson(path) ?? {};
      if (isJobFile(value)) return withTime(value, directory);
      if (stamp !== undefined) useless.set(directory, stamp);
      return undefined;
    },
    forget: (directory) => void useless.delete(directory),
  };
}

/** Where the file holds no time, the folder's name tells it. */
function withTime(file: JobFile, directory: string): JobFile {
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
