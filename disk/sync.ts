import { closeSync, constants, fsyncSync, openSync } from "node:fs";

/** Has the disk keep what was written to a file, even if power is lost. */
export function syncFile(path: string): void {
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Has the disk keep the names in a folder. */
export function syncFolder(path: string): void {
  // Windows opens no folder, and keeps its names without.
  if (process.platform !== "win32") syncFile(path);
}
