import type { EngineEvent } from "../../protocol/event.ts";
import { type PythonJob, type PythonMessage, parseMessage } from "../python/messages.ts";
import type { ModelFolders } from "../python/model.ts";

/** What the driver reads from the package: `Job` of kit_ray/job.py. */
export interface RayJob {
  id: string;
  mode: "train" | "check" | "answer";
  job: TrainingTask | AnsweringTask;
  workers: number;
  cpus: number;
  gpus: number;
  storage: string | undefined;
  max_failures: number;
  /** This machine's names of paths in the package. */
  names: Record<string, string>;
}

export type TrainingTask = PythonJob & { baseName?: string };

export interface AnsweringTask {
  /** One of its paths is the stored one. */
  model: ModelFolders;
  stored: Stored;
  /** How long it waits for a heartbeat of Kit. */
  idleSeconds: number;
}

/** A checkpoint in the cluster's storage. */
export interface Stored {
  /** A path or a URL. */
  path: string;
  /** Of each file, its size in bytes and its SHA-256. */
  files: Record<string, { size: number; sha256: string }>;
}

/** A job, and what marks its lines in its log. */
export interface JobLog {
  id: string;
  /** Undefined for a job of a Kit that gave none. */
  secret: string | undefined;
}

/** A line of the driver, with its number, counted from 1. */
export type RayMessage = { seq: number; secret?: string } & (
  | Exclude<PythonMessage, { type: "event" }>
  | { type: "event"; event: EngineEvent; stored?: Stored }
  | { type: "beat" }
  | { type: "ready"; folder: string; node: string }
);

/**
 * A line as a message; undefined for what others print.
 * @param secret of the job: others may print what looks like a message, but cannot know it
 */
export function parseLine(line: string, secret?: string): RayMessage | undefined {
  const message = line.startsWith("{") ? (parseMessage(line) as RayMessage | undefined) : undefined;
  return secret === undefined || message?.secret === secret ? message : undefined;
}
