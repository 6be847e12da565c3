import { closeSync, openSync, writeSync } from "node:fs";

/** Adds what a program prints to a file, from its first byte, but only once it is told to begin. */
export function createRecorder(path: string) {
  const early: Buffer[] = [];
  let file: number | undefined;

  function write(bytes: Buffer): void {
    if (file === undefined) early.push(bytes);
    else add(file, bytes);
  }

  return {
    write,
    begin(): void {
      if (file !== undefined) return;
      try {
        // Opened once: the output of a later run takes this path by a rename.
        file = openSync(path, "a");
      } catch {
        // A folder that somebody has deleted: the job is followed all the same.
        return;
      }
      for (const bytes of early.splice(0)) add(file, bytes);
    },
    close(): void {
      if (file !== undefined) closeSync(file);
      file = undefined;
    },
  };
}

function add(file: number, bytes: Buffer): void {
  try {
    writeSync(file, bytes);
  } catch {
    // A full disk, say.
  }
}
