import nodePath, { dirname } from "node:path";
import { OTHERS_READ, makeDirectory, syncFolder, writeFileAtomically } from "../../disk/file.ts";
import { readRecord } from "../../disk/json.ts";
import { pathInside } from "../../disk/pathInside.ts";
import { storedRecordPath } from "../../protocol/artifactPath.ts";
import { isKitError } from "../../protocol/error.ts";
import { isUrl } from "../../protocol/url.ts";
import { cannotSave } from "../checkpoint/directory.ts";
import { type Cluster, isProjectAddress } from "./cluster.ts";
import { type StoredCheckpoint, isStoredCheckpoint } from "./messages.ts";

/** Where a cluster's storage has an artifact: `step-400.stored.json`, beside the artifact's folder. */
export interface StoredRecord extends StoredCheckpoint {
  /** The cluster's address, as in the job's location. */
  address: string;
}

/**
 * Writes a record atomically.
 * @param artifact absolute path of the artifact's folder, which may not exist
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
  const isValid = typeof address === "string" && isStoredCheckpoint(record);
  return isValid && Object.keys(record.files).length > 0 ? { ...record, address } : undefined;
}

/** Whether a cluster's workers can read a stored artifact: it is in their storage, or on their cluster. */
export function isVisibleTo(cluster: Cluster, stored: StoredRecord): boolean {
  const { storage } = cluster;
  return (
    (storage !== undefined && isInStorage(storage, stored.path)) ||
    isProjectAddress(cluster, stored.address)
  );
}

/** Appends a name to a storage's path. A URL's query, such as its server's address, stays last. */
export function joinStorage(storage: string, name: string): string {
  const { path, query } = split(storage);
  return `${path}/${name}${query}`;
}

/** Whether a path is in a storage: both are paths, or URLs with the same query. */
export function isInStorage(storage: string, path: string, system = nodePath): boolean {
  if (!isUrl(storage) && !isUrl(path)) return Boolean(pathInside(storage, path, system));
  const [outer, inner] = [split(storage), split(path)];
  return inner.path.startsWith(`${outer.path}/`) && inner.query === outer.query;
}

function split(location: string): { path: string; query: string } {
  const at = location.includes("://") ? location.indexOf("?") : -1;
  const [path, query] = at < 0 ? [location, ""] : [location.slice(0, at), location.slice(at)];
  return { path: path.replace(/\/+$/, ""), query };
}
