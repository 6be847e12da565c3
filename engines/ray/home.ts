import { createReadStream, existsSync, renameSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { makeDirectory } from "../../disk/file.ts";
import { takeLock } from "../../disk/lock.ts";
import { syncFolder } from "../../disk/sync.ts";
import { fetchFolder } from "../../protocol/artifactPath.ts";
import { KitError } from "../../protocol/error.ts";
import { cannotSave } from "../checkpoint/directory.ts";
import { megabytes } from "../hub/downloadNotes.ts";
import type { Stored } from "./messages.ts";
import type { Remote } from "./remote.ts";
import { stageFiles } from "./stageFiles.ts";
import { openTransfer } from "./transfer.ts";

interface Way {
  remote: Remote;
  signal: AbortSignal;
  /** Takes how many bytes of all are here. */
  onBytes?: (bytes: number) => void;
  onNote?: (text: string) => void;
  /** How long the cluster keeps what it has laid out without a heartbeat of this process. */
  idleSeconds?: number;
}

/**
 * Brings a checkpoint from the cluster's storage to this machine, whole when it has its name: by the
 * file system where both see it, else through the dashboard. Files that an earlier attempt has brought
 * are not brought again.
 * @throws KitError `CHECKPOINT_UNWRITABLE`, `CHECKPOINT_INVALID`, `CLUSTER_UNREACHABLE`
 */
export async function downloadArtifact(stored: Stored, path: string, way: Way): Promise<void> {
  const { signal, onBytes = () => {}, onNote = () => {} } = way;
  const folder = join(dirname(path), fetchFolder(basename(path)));
  const onWait = () => onNote(`waiting for another download of ${path}`);
  try {
    makeDirectory(dirname(folder));
    const lock = await takeLock(`${folder}.lock`, Infinity, { signal, onWait });
    try {
      if (existsSync(path)) return;
      await fill(stored, folder, path, { ...way, onBytes });
      syncFolder(folder);
      renameSync(folder, path);
      syncFolder(dirname(path));
    } finally {
      lock?.release();
    }
  } catch (cause) {
    signal.throwIfAborted();
    // Of the disk.
    throw (cause as NodeJS.ErrnoException).syscall ? cannotSave(path, cause) : cause;
  }
}

/** Whether this machine sees a checkpoint in its storage. */
export function isVisible({ path, files }: Stored): boolean {
  const names = Object.keys(files);
  return names.length > 0 && names.every((name) => existsSync(join(path, name)));
}

type Filling = Way & Required<Pick<Way, "onBytes">>;

/** @param path the folder's name to be */
async function fill(stored: Stored, folder: string, path: string, way: Filling) {
  const { missing, missingBytes, take } = await openTransfer(folder, stored, way);
  if (missing.length === 0) return;
  const { bavail, bsize } = await statfs(folder);
  if (missingBytes > bavail * bsize) throw noRoom(path, missingBytes, bavail * bsize);
  if (isVisible(stored)) return take((name) => createReadStream(join(stored.path, name)));
  const laid = await stageFiles(stored, missing, { ...way, to: path });
  try {
    await take(laid.read);
  } finally {
    await laid.close();
  }
}

function noRoom(path: string, bytes: number, room: number): KitError {
  return new KitError(
    "CHECKPOINT_UNWRITABLE",
    `${path} takes ${megabytes(bytes)}, but its disk has room for ${megabytes(room)}. Free disk space.`,
  );
}
