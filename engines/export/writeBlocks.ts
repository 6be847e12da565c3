import { closeSync, fsync, openSync } from "node:fs";
import { promisify } from "node:util";
import { OTHERS_READ } from "../../disk/file.ts";
import { writeFully } from "../modelFiles/regularFile.ts";

/**
 * Writes and flushes a new file.
 * @param blocks are created one by one, each once the previous one is written
 * @param pause awaited between blocks
 * @returns its size in bytes
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
      writeFully(output, block);
      bytes += block.length;
      await pause();
    }
    // Flushed in the background, because flushing a large file synchronously would stop the lock's heartbeat.
    await promisify(fsync)(output);
  } finally {
    closeSync(output);
  }
  return bytes;
}
