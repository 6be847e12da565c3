import { join } from "node:path";
import { isPlainFile, writeFileAtomically } from "../disk/file.ts";
import { readRecord } from "../disk/json.ts";
import type { Placement } from "../protocol/placement.ts";

/** `placement.json` of a job that was handed to another machine. */
export interface PlacementRecord extends Placement {
  /** The checkpoint with which it began, and the job that saved it. */
  resumed?: { jobId: string; step: number };
}

/** @throws the errors of a write */
export function writePlacement(directory: string, record: PlacementRecord): void {
  writeFileAtomically(placementPath(directory), `${JSON.stringify(record, undefined, 2)}\n`);
}

/** Undefined for a job that runs on this machine, or was not handed over yet. */
export function readPlacement(directory: string): PlacementRecord | undefined {
  const record = readRecord(placementPath(directory));
  const texts = [record?.["where"], record?.["address"], record?.["checkpoints"]];
  const isWhole = texts.every((text) => typeof text === "string");
  return isWhole ? (record as unknown as PlacementRecord) : undefined;
}

/** Whether a job's training goes on without its owner. */
export function isPlaced(directory: string): boolean {
  return isPlainFile(placementPath(directory));
}

function placementPath(directory: string): string {
  return join(directory, "placement.json");
}
