import { invalidReport } from "../../protocol/engineReport.ts";
import type { EngineEvent } from "../../protocol/event.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { type PythonJob, type PythonMessage, parseMessage } from "../python/messages.ts";
import type { ModelFolders } from "../python/model.ts";

/** The job in the package, as the driver reads it: `Job` of kit_ray/job.py. */
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
  /** One of these folders is the stored checkpoint. */
  model: ModelFolders;
  stored: StoredCheckpoint;
  /** How long the job runs without a heartbeat from Kit. */
  idleSeconds: number;
}

/** A checkpoint in the cluster's storage. */
export interface StoredCheckpoint {
  /** A path or a URL. */
  path: string;
  /** Size in bytes and SHA-256 of each file. */
  files: Record<string, { size: number; sha256: string }>;
}

/** A job, and the secret that marks its messages in its log. */
export interface JobLog {
  id: string;
  /** Undefined if its record has none. */
  secret: string | undefined;
}

/** A message in the driver's log, with its number, counted from 1. */
export type RayMessage = { seq: number; secret?: string } & (
  | Exclude<PythonMessage, { type: "event" }>
  | { type: "event"; event: EngineEvent; stored?: StoredCheckpoint }
  | { type: "beat" }
  | { type: "ready"; folder: string; node: string }
);

/**
 * Parses a line; undefined for other output.
 * @param secret of the job, without which other programs can't fake messages
 */
export function parseLine(line: string, secret?: string): RayMessage | undefined {
  const message = line.startsWith("{") ? (parseMessage(line) as RayMessage | undefined) : undefined;
  return secret === undefined || message?.secret === secret ? message : undefined;
}

/**
 * Checks that a message has its type's fields.
 * @throws KitError `ENGINE_REPORT_INVALID`
 */
export function assertMessage(message: RayMessage): void {
  if (FIELD_CHECKS[message.type]?.(message as unknown as Fields) ?? true) return;
  const { secret: _, ...publicFields } = message;
  throw invalidReport("ray reported", publicFields, "a message of a job");
}

type Fields = Record<string, unknown>;

const FIELD_CHECKS: Partial<Record<RayMessage["type"], (fields: Fields) => boolean>> = {
  hello: ({ python, executable, packages }) => areStrings(python, executable) && isRecord(packages),
  note: ({ text }) => areStrings(text),
  started: ({ data, skipped }) => isRecord(data) && isRecord(skipped),
  event: ({ event, stored }) =>
    isRecord(event) && (stored === undefined || isStoredCheckpoint(stored)),
  tokens: ({ tokens }) => Array.isArray(tokens) && tokens.every(isToken),
  done: ({ check }) => check === undefined || (isRecord(check) && isRecord(check["skipped"])),
  failed: ({ code, message }) => areStrings(code, message),
  ready: ({ folder, node }) => areStrings(folder, node),
};

function isToken(token: unknown): boolean {
  return isRecord(token) && typeof token["text"] === "string";
}

function areStrings(...values: unknown[]): boolean {
  return values.every((value) => typeof value === "string");
}

export function isStoredCheckpoint(value: unknown): value is StoredCheckpoint {
  if (!isRecord(value) || typeof value["path"] !== "string" || !isRecord(value["files"]))
    return false;
  return Object.values(value["files"]).every(
    (file) =>
      isRecord(file) && Number.isSafeInteger(file["size"]) && typeof file["sha256"] === "string",
  );
}

/** Marks a note as the cluster's, so that it can't pass for Kit's own. Warnings are distinct already. */
export function clusterNote(text: string): string {
  return text.startsWith("warning: ") ? text : `cluster: ${text}`;
}
