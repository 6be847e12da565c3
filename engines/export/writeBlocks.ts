import { closeSync, fsync, openSync } from "node:fs";
import { promisify } from "node:util";
import { OTHERS_READ } from "../../disk/file.ts";
import { writeWhole } from "../modelFiles/plainFile.ts";

/**
 * Writes a new file, flushed to the disk.
 * @param blocks one is made after the other is written
 * @param pause is awaited between blocks
 * @returns the bytes of the file
 */
export async function writeBlocks(
  path: string,
  blocks: Iterable<Uint8Array>,
  pause: () => Promise<void>,
): Promise<number> {
  const output = openSync(path, "wx", OTHERS_READ);
  let bytes = 0;
  try {
    for (const block of blocks) {
      writeWhole(output, block);
      bytes += block.length;
      await pause();
    }
    // In the background: a large file takes longer than others take this process for alive.
    await promisify(fsync)(output);
  } finally {
    closeSync(output);
  }
  return bytes;
}
