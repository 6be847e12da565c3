import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { readRecord } from "../../disk/json.ts";
import { OTHERS_READ, OTHERS_READ_FOLDER } from "../../disk/modes.ts";
import { syncFolder } from "../../disk/sync.ts";
import { partialFolder, storedRecordPath } from "../../protocol/artifactPath.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { cannotSave } from "../checkpoint/directory.ts";
import { type Cluster, isNamed } from "./cluster.ts";
import type { Stored } from "./messages.ts";
import { isUnder } from "./storage.ts";

/** The record of an artifact in a cluster's storage: `step-400.stored.json`, beside its folder. */
export interface StoredRecord extends Stored {
  /** Of the cluster, as the placement's. */
  address: string;
}

/**
 * Whole and on the disk when it has its name.
 * @param artifact absolute path of its folder, whether or not its files are there
 * @throws KitError `CHECKPOINT_UNWRITABLE`
 */
export function writeStored(artifact: string, record: StoredRecord): void {
  const path = storedRecordPath(artifact);
  const partial = join(dirname(path), partialFolder(basename(path)));
  try {
    mkdirSync(dirname(path), { recursive: true, mode: OTHERS_READ_FOLDER });
    const content = `${JSON.stringify(record, undefined, 2)}\n`;
    writeFileSync(partial, content, { mode: OTHERS_READ, flush: true });
    renameSync(partial, path);
    syncFolder(dirname(path));
  } catch (cause) {
    throw cannotSave(path, cause);
  }
}

/** Undefined for an artifact of this machine alone. */
export function readStored(artifact: string): StoredRecord | undefined {
  const record = readRecord(storedRecordPath(artifact)) ?? {};
  const { address, path, files } = record;
  const isWhole = typeof address === "string" && typeof path === "string" && isRecord(files);
  if (!isWhole || Object.keys(files).length === 0) return undefined;
  return Object.values(files).every(isFile) ? (record as unknown as StoredRecord) : undefined;
}

/** Whether a cluster's workers find an artifact where it is kept: in their storage, or on that cluster. */
export function isSeenBy(cluster: Cluster, stored: StoredRecord): boolean {
  const { storage } = cluster;
  return (
    (storage !== undefined && isUnder(storage, stored.path)) || isNamed(cluster, stored.address)
  );
}

function isFile(file: unknown): boolean {
  if (!isRecord(file)) return false;
  return Number.isSafeInteger(file["size"]) && typeof file["sha256"] === "string";
}
