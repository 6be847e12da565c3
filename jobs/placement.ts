import { join } from "node:path";
import { isPlainFile, writeFileAtomically } from "../disk/file.ts";
import { readRecord } from "../disk/json.ts";
import { isRecord } from "../protocol/isRecord.ts";
import type { Placement } from "../protocol/placement.ts";
import { isJobId } from "./id.ts";

/** `placement.json` of a job that was handed to another machine. */
export interface PlacementRecord extends Placement {
  /** The checkpoint with which it began, and the job that saved it. */
  resumed?: { jobId: string; step: number };
}

/** @throws the errors of a write */
export function writePlacement(directory: string, record: PlacementRecord): void {
  const content = `${JSON.stringify(record, undefined, 2)}\n`;
  writeFileAtomically(placementPath(directory), content, { flush: true });
}

/** Undefined for a job that runs on this machine, or was not handed over yet, and for a damaged record. */
export function readPlacement(directory: string): PlacementRecord | undefined {
  const record = readRecord(placementPath(directory));
  const { where, address, checkpoints, resumed } = record ?? {};
  const isWhole = [where, address, checkpoints].every((text) => typeof text === "string");
  return isWhole && isResumed(resumed) ? (record as unknown as PlacementRecord) : undefined;
}

function isResumed(resumed: unknown): boolean {
  if (resumed === undefined) return true;
  return isRecord(resumed) && isJobId(String(resumed.jobId)) && Number.isSafeInteger(resumed.step);
}

/** Whether a job's training goes on without its owner. */
export function isPlaced(directory: string): boolean {
  return isPlainFile(placementPath(directory));
}

function placementPath(directory: string): string {
  return join(directory, "placement.json");
}
