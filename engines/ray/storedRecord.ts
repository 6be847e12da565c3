import { dirname } from "node:path";
import { OTHERS_READ, makeDirectory, syncFolder, writeFileAtomically } from "../../disk/file.ts";
import { readRecord } from "../../disk/json.ts";
import { storedRecordPath } from "../../protocol/artifactPath.ts";
import { isKitError } from "../../protocol/error.ts";
import { cannotSave } from "../checkpoint/directory.ts";
import { type Cluster, isNamed } from "./cluster.ts";
import { type StoredCheckpoint, isStored } from "./messages.ts";

/** The record of an artifact in a cluster's storage: `step-400.stored.json`, beside its folder. */
export interface StoredRecord extends StoredCheckpoint {
  /** Of the cluster, as the location's. */
  address: string;
}

/**
 * Whole and on the disk when it has its name.
 * @param artifact absolute path of its folder, whether or not its files are there
 * @throws KitError `CHECKPOINT_UNWRITABLE`, `LINK_IN_KIT`
 */
export function writeStoredRecord(artifact: string, record: StoredRecord): void {
  const path = storedRecordPath(artifact);
  try {
    makeDirectory(dirname(path));
    const content = `${JSON.stringify(record, undefined, 2)}\n`;
    writeFileAtomically(path, content, { mode: OTHERS_READ, flush: true });
    syncFolder(dirname(path));
  } catch (cause) {
    throw isKitError(cause) ? cause : cannotSave(path, cause);
  }
}

/** Undefined for an artifact that only this machine has. */
export function readStoredRecord(artifact: string): StoredRecord | undefined {
  const record = readRecord(storedRecordPath(artifact)) ?? {};
  const { address } = record;
  const isWhole = typeof address === "string" && isStored(record);
  return isWhole && Object.keys(record.files).length > 0 ? { ...record, address } : undefined;
}

/** Whether a cluster's workers find an artifact where it is kept: in their storage, or on that cluster. */
export function isVisibleTo(cluster: Cluster, stored: StoredRecord): boolean {
  const { storage } = cluster;
  return (
    (storage !== undefined && isUnder(storage, stored.path)) || isNamed(cluster, stored.address)
  );
}

/** Adds a name to a storage's path. A URL's query, such as its server's address, stays at the end. */
export function under(storage: string, name: string): string {
  const { path, query } = split(storage);
  return `${path}/${name}${query}`;
}

/** Whether a place lies under a storage: both are paths, or URLs with the same query. */
export function isUnder(storage: string, place: string): boolean {
  const [one, other] = [split(storage), split(place)];
  return other.path.startsWith(`${one.path}/`) && other.query === one.query;
}

function split(place: string): { path: string; query: string } {
  const at = place.includes("://") ? place.indexOf("?") : -1;
  const [path, query] = at < 0 ? [place, ""] : [place.slice(0, at), place.slice(at)];
  return { path: path.replace(/\/+$/, ""), query };
}
