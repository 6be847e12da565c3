import { copyFileSync, cpSync, existsSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import {
  isFolder,
  isRegularFile,
  makeDirectory,
  refuseLink,
  syncFile,
  syncFolder,
} from "../disk/file.ts";
import { isBusy, move, remove, tryRemove } from "../disk/move.ts";
import {
  ARTIFACTS,
  fetchFolder,
  partialFolder,
  stepOfEntry,
  storedRecordPath,
} from "../protocol/artifactPath.ts";
import { isArtifact } from "../protocol/engineReport.ts";
import { cannotWrite } from "../protocol/error.ts";
import type { Artifact } from "../protocol/event.ts";
import { isRecord } from "../protocol/isRecord.ts";
import { findNewest } from "./log/read.ts";
import { logPath } from "./paths.ts";

/** Whether an artifact's files are only on other machines. */
export function isRemoteArtifact(artifact: string): boolean {
  return !existsSync(artifact) && isRegularFile(storedRecordPath(artifact));
}

/**
 * Call before reading a job's artifacts.
 * @throws KitError `LINK_IN_KIT` when the folder or anything in it is a link
 */
export function refuseLinkedArtifacts(directory: string): void {
  refuseLinksFrom(join(directory, ARTIFACTS));
}

function refuseLinksFrom(path: string): void {
  refuseLink(path);
  if (!isFolder(path)) return;
  for (const name of readdirSync(path)) refuseLinksFrom(join(path, name));
}

/** Whether an artifact is here or remote. */
export function artifactExists(artifact: string): boolean {
  return existsSync(artifact) || isRemoteArtifact(artifact);
}

/**
 * Removes an artifact's record and local files; renames the folder first, so that nobody sees half of it.
 * @returns false while another process reads it, on Windows
 * @throws KitError `CANNOT_WRITE`
 */
export function removeArtifact(artifact: string): boolean {
  const beside = (name: string) => join(dirname(artifact), name);
  const partial = beside(partialFolder(basename(artifact)));
  try {
    remove(storedRecordPath(artifact));
    remove(beside(fetchFolder(basename(artifact))));
    move(artifact, partial);
    remove(partial);
    return true;
  } catch (error) {
    if (isBusy(error)) return false;
    // It is remote, or another process removed it.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return true;
    throw cannotWrite(`remove ${artifact}`, error);
  }
}

/** Removes files of an artifact, if possible. */
export function tryRemoveFiles(artifact: string, names: readonly string[]): void {
  for (const name of names) tryRemove(join(artifact, name));
}

/**
 * Copies an artifact's local folder, record or both into another job. Each is on the disk before it has its
 * name.
 * @param skipped names of files not to copy
 */
export function copyArtifact(from: string, to: string, skipped: readonly string[] = []): void {
  makeDirectory(dirname(to));
  copyAtomically(storedRecordPath(from), storedRecordPath(to), (record, partial) => {
    copyFileSync(record, partial);
    syncFile(partial);
  });
  copyAtomically(from, to, (folder, partial) => {
    const isCopied = (path: string) => !skipped.includes(basename(path));
    cpSync(folder, partial, { recursive: true, filter: isCopied });
    for (const name of readdirSync(partial)) syncFile(join(partial, name));
    syncFolder(partial);
  });
}

function copyAtomically(
  from: string,
  to: string,
  copy: (from: string, partial: string) => void,
): void {
  if (!existsSync(from)) return;
  const partial = join(dirname(to), partialFolder(basename(to)));
  copy(from, partial);
  move(partial, to);
  syncFolder(dirname(to));
}

/** The steps of a job's checkpoints, local or remote, in ascending order. */
export function checkpointSteps(artifacts: string): number[] {
  if (!existsSync(artifacts)) return [];
  const steps = readdirSync(artifacts).flatMap((name) => stepOfEntry(name) ?? []);
  return [...new Set(steps)].toSorted((a, b) => a - b);
}

/** Whether the recent part of a job's log has a saved checkpoint, even if it was deleted since. */
export function hasSavedCheckpoint(directory: string): boolean {
  const isSave = ({ event }: { event?: unknown }) => event === "checkpoint.saved" || undefined;
  return findNewest(logPath(directory), isSave)?.found === true;
}

/** A completed job's result; undefined for any other job. */
export function readResult(directory: string): Artifact | undefined {
  const end = findNewest(logPath(directory), (record) =>
    record.event === "training.completed" ? record : undefined,
  )?.found;
  const { artifacts } = isRecord(end?.data) ? end.data : {};
  const last: unknown = Array.isArray(artifacts) ? artifacts.at(-1) : undefined;
  return isArtifact(last) ? last : undefined;
}
