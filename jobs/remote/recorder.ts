import { closeSync, openSync, writeSync } from "node:fs";
import { formatCount } from "../../protocol/format.ts";

/** How much output from before `begin` is kept, in bytes. */
const MOST_EARLY = 1_048_576;

/** Appends a program's output to a file, once `begin` is called. Until then it holds the end of it. */
export function createRecorder(path: string) {
  let early: Buffer[] | undefined = [];
  let held = 0;
  let dropped = 0;
  let file: number | undefined;

  function write(bytes: Buffer): void {
    if (file !== undefined) add(file, bytes);
    if (!early) return;
    early.push(bytes);
    held += bytes.length;
    while (held > MOST_EARLY) {
      const { length } = early.shift()!;
      held -= length;
      dropped += length;
    }
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
      if (dropped > 0) {
        const left = `${formatCount(dropped / 1e6)} MB`;
        add(file, Buffer.from(`kit: left out the first ${left} that kit attach printed\n`));
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
