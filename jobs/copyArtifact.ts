import { copyFileSync, cpSync, existsSync, readdirSync, renameSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { makeDirectory } from "../disk/file.ts";
import { syncFile, syncFolder } from "../disk/sync.ts";
import { partialFolder, storedRecordPath } from "../protocol/artifactPath.ts";

/**
 * Copies what is here of an artifact into another job: its folder, its record, or both. As a checkpoint,
 * each is on the disk before it has its name.
 * @param skipped names of files that are not copied
 */
export function copyArtifact(from: string, to: string, skipped: readonly string[] = []): void {
  makeDirectory(dirname(to));
  place(storedRecordPath(from), storedRecordPath(to), (record, partial) => {
    copyFileSync(record, partial);
    syncFile(partial);
  });
  place(from, to, (folder, partial) => {
    const isCopied = (path: string) => !skipped.includes(basename(path));
    cpSync(folder, partial, { recursive: true, filter: isCopied });
    for (const name of readdirSync(partial)) syncFile(join(partial, name));
    syncFolder(partial);
  });
}

function place(from: string, to: string, copy: (from: string, partial: string) => void): void {
  if (!existsSync(from)) return;
  const partial = join(dirname(to), partialFolder(basename(to)));
  copy(from, partial);
  renameSync(partial, to);
  syncFolder(dirname(to));
}
