import { join } from "node:path";
import { isRegularFile, writeFileAtomically } from "../disk/file.ts";
import { readRecord } from "../disk/json.ts";
import type { RemoteLocation } from "../protocol/engine.ts";
import { isRecord } from "../protocol/isRecord.ts";
import { isJobId } from "./id.ts";

/** `placement.json` of a remote job. */
export interface RemoteLocationRecord extends RemoteLocation {
  /** The checkpoint that the job resumed from, by its job and step. */
  resumed?: { jobId: string; step: number };
}

export function writeRemoteLocation(directory: string, record: RemoteLocationRecord): void {
  const content = `${JSON.stringify(record, undefined, 2)}\n`;
  writeFileAtomically(recordPath(directory), content, { flush: true });
}

/** Undefined if local, not yet submitted, or damaged. */
export function readRemoteLocation(directory: string): RemoteLocationRecord | undefined {
  const record = readRecord(recordPath(directory));
  const { where, address, checkpoints, resumed } = record ?? {};
  const isValid = [where, address, checkpoints].every((text) => typeof text === "string");
  return isValid && isResumed(resumed) ? (record as unknown as RemoteLocationRecord) : undefined;
}

function isResumed(resumed: unknown): boolean {
  if (resumed === undefined) return true;
  return isRecord(resumed) && isJobId(String(resumed.jobId)) && Number.isSafeInteger(resumed.step);
}

export function runsRemotely(directory: string): boolean {
  return isRegularFile(recordPath(directory));
}

function recordPath(directory: string): string {
  return join(directory, "placement.json");
}
