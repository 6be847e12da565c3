import { constants, existsSync, statSync } from "node:fs";
import { open, statfs } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { makeDirectory, syncFolder } from "../../disk/file.ts";
import { takeLock } from "../../disk/lock.ts";
import { move } from "../../disk/move.ts";
import { fetchFolder } from "../../protocol/artifactPath.ts";
import type { FetchOptions } from "../../protocol/engine.ts";
import { KitError } from "../../protocol/error.ts";
import { cannotSave } from "../checkpoint/directory.ts";
import { createTransferNotes, megabytes } from "../hub/transferNotes.ts";
import type { StoredCheckpoint } from "./messages.ts";
import type { Remote } from "./rayJobs.ts";
import { stageFiles } from "./stageFiles.ts";
import { readStoredRecord } from "./storedRecord.ts";
import { openTransfer } from "./transfer.ts";

interface DownloadOptions {
  remote: Remote;
  signal: AbortSignal;
  /** Receives the bytes downloaded so far. */
  onBytes?: (bytes: number) => void;
  onNote?: (text: string) => void;
  /** How long the cluster keeps staged files without a heartbeat from this process. */
  idleSeconds?: number;
}

/**
 * Copies a checkpoint from the cluster's storage to this machine: over a shared file system if there is one, otherwise
 * through the dashboard. The folder gets its final name only when it is complete. Files from an interrupted attempt are
 * kept.
 * @throws KitError `CHECKPOINT_UNWRITABLE`, `CHECKPOINT_INVALID`, `CLUSTER_UNREACHABLE`
 */
export async function downloadArtifact(
  stored: StoredCheckpoint,
  path: string,
  options: DownloadOptions,
): Promise<void> {
  const { signal, onBytes = () => {}, onNote = () => {} } = options;
  const folder = join(dirname(path), fetchFolder(basename(path)));
  const onWait = () => onNote(`waiting for another download of ${path}`);
  try {
    makeDirectory(dirname(folder));
    const lock = await takeLock(`${folder}.lock`, Infinity, { signal, onWait });
    try {
      if (existsSync(path)) return;
      await downloadMissing(stored, folder, path, { ...options, onBytes });
      syncFolder(folder);
      move(folder, path);
      syncFolder(dirname(path));
    } finally {
      lock?.release();
    }
  } catch (cause) {
    signal.throwIfAborted();
    // A disk error.
    throw (cause as NodeJS.ErrnoException).syscall ? cannotSave(path, cause) : cause;
  }
}

/**
 * Downloads the artifact that its record describes. Does nothing without a record.
 * @param remoteAt finds the cluster by the record's address
 * @param skipped names of files to skip
 * @throws KitError as `RemoteTraining.fetch`
 */
export async function fetchArtifact(
  remoteAt: (address: string) => Remote,
  skipped: readonly string[],
  { directory, signal = new AbortController().signal, onProgress, onNote = () => {} }: FetchOptions,
): Promise<void> {
  signal.throwIfAborted();
  const stored = existsSync(directory) ? undefined : readStoredRecord(directory);
  if (!stored) return;
  const remote = remoteAt(stored.address);
  const wanted = Object.entries(stored.files).filter(([name]) => !skipped.includes(name));
  const totalBytes = wanted.reduce((sum, [, { size }]) => sum + size, 0);
  const name = `${basename(directory)} from ${remote.name}`;
  const onBytes = onProgress
    ? (bytes: number) => onProgress({ bytes, totalBytes })
    : createTransferNotes(`downloading ${name}`, totalBytes, onNote);
  const selected = { ...stored, files: Object.fromEntries(wanted) };
  await downloadArtifact(selected, directory, { remote, signal, onBytes, onNote });
}

/** Whether this machine sees a checkpoint in its storage. */
export function isVisible({ path, files }: StoredCheckpoint): boolean {
  const names = Object.keys(files);
  return names.length > 0 && names.every((name) => isFile(join(path, name)));
}

/** @param path the folder's final path */
async function downloadMissing(
  stored: StoredCheckpoint,
  folder: string,
  path: string,
  options: DownloadOptions & { onBytes: (bytes: number) => void },
) {
  const { missing, missingBytes, download } = await openTransfer(folder, stored, options);
  if (missing.length === 0) return;
  const { bavail, bsize } = await statfs(folder);
  if (missingBytes > bavail * bsize) throw diskFull(path, missingBytes, bavail * bsize);
  if (isVisible(stored)) return download((name) => readRegularFile(join(stored.path, name)));
  const staged = await stageFiles(stored, missing, { ...options, to: path });
  try {
    await download(staged.read);
  } finally {
    await staged.close();
  }
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

/** Doesn't block on a named pipe. */
async function* readRegularFile(path: string): AsyncGenerator<Buffer> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  if (!(await file.stat()).isFile()) {
    await file.close();
    throw new KitError(
      "CHECKPOINT_INVALID",
      `${path} is not a regular file. Pass the directory of a model or a checkpoint.`,
    );
  }
  yield* file.createReadStream() as AsyncIterable<Buffer>;
}

function diskFull(path: string, bytes: number, free: number): KitError {
  return new KitError(
    "CHECKPOINT_UNWRITABLE",
    `${path} needs ${megabytes(bytes)}, but its disk has ${megabytes(free)} free. Free disk space.`,
  );
}
