import { existsSync } from "node:fs";
import { basename } from "node:path";
import type { FetchOptions } from "../../protocol/engine.ts";
import { createDownloadNotes } from "../hub/downloadNotes.ts";
import { downloadArtifact } from "./home.ts";
import type { Remote } from "./remote.ts";
import { readStored } from "./stored.ts";

/**
 * Brings an artifact here by its record; does nothing without one.
 * @param remoteAt finds the cluster by the record's address
 * @param skipped names of files that are left there
 * @throws KitError as `RemoteTraining.fetch`
 */
export async function fetchArtifact(
  remoteAt: (address: string) => Remote,
  skipped: readonly string[],
  { directory, signal = new AbortController().signal, onProgress, onNote = () => {} }: FetchOptions,
): Promise<void> {
  signal.throwIfAborted();
  const stored = existsSync(directory) ? undefined : readStored(directory);
  if (!stored) return;
  const remote = remoteAt(stored.address);
  const wanted = Object.entries(stored.files).filter(([name]) => !skipped.includes(name));
  const totalBytes = wanted.reduce((sum, [, { size }]) => sum + size, 0);
  const name = `${basename(directory)} from ${remote.name}`;
  const onBytes = onProgress
    ? (bytes: number) => onProgress({ bytes, totalBytes })
    : createDownloadNotes(name, totalBytes, onNote);
  const way = { remote, signal, onBytes, onNote };
  await downloadArtifact({ ...stored, files: Object.fromEntries(wanted) }, directory, way);
}
