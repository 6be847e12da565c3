import { cpSync, readdirSync, renameSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { syncFile, syncFolder } from "../disk/sync.ts";
import { partialFolder } from "../protocol/artifactPath.ts";

/**
 * Copies an artifact's folder into another job. As a checkpoint, it is on the disk before it has its
 * name.
 * @param skipped names of files that are not copied
 */
export function copyArtifact(from: string, to: string, skipped: readonly string[] = []): void {
  const partial = join(dirname(to), partialFolder(basename(to)));
  cpSync(from, partial, {
    recursive: true,
    filter: (path) => !skipped.includes(basename(path)),
  });
  for (const name of readdirSync(partial)) syncFile(join(partial, name));
  syncFolder(partial);
  renameSync(partial, to);
  syncFolder(dirname(to));
}
