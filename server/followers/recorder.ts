import { closeSync, openSync, writeSync } from "node:fs";

/** Appends a program's output to a file. Holds it in memory until `begin` is called. */
export function createRecorder(path: string) {
  let early: Buffer[] | undefined = [];
  let file: number | undefined;

  function write(bytes: Buffer): void {
    early?.push(bytes);
    if (file !== undefined) add(file, bytes);
  }

  return {
    write,
    begin(): void {
      const before = early;
      if (!before) return;
      early = undefined;
      try {
        // Opened once: the output of a later run takes this path by a rename.
        file = openSync(path, "a");
      } catch {
        // A folder that somebody has deleted: the job is followed all the same.
        return;
      }
      for (const bytes of before) add(file, bytes);
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
