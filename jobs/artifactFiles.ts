import { existsSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isPlainFile } from "../disk/file.ts";
import { fetchFolder, partialFolder, storedRecordPath } from "../protocol/artifactPath.ts";
import { cannotWrite } from "../protocol/cannotWrite.ts";

/** Whether an artifact's files are not here, but where its record says. */
export function isElsewhere(artifact: string): boolean {
  return !existsSync(artifact) && isPlainFile(storedRecordPath(artifact));
}

/** Whether an artifact is here or elsewhere. */
export function isKept(artifact: string): boolean {
  return existsSync(artifact) || isElsewhere(artifact);
}

/**
 * Removes what is here of an artifact: its files, under another name first, so that nobody sees half of
 * them, and its record.
 * @throws KitError `CANNOT_WRITE`
 */
export function removeArtifact(artifact: string): void {
  const beside = (name: string) => join(dirname(artifact), name);
  const partial = beside(partialFolder(basename(artifact)));
  try {
    rmSync(storedRecordPath(artifact), { force: true });
    rmSync(beside(fetchFolder(basename(artifact))), { recursive: true, force: true });
    renameSync(artifact, partial);
    rmSync(partial, { recursive: true });
  } catch (error) {
    // It is elsewhere, or somebody else has removed it.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw cannotWrite(`remove ${artifact}`, error);
  }
}
