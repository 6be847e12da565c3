import { closeSync, fsync, openSync } from "node:fs";
import { promisify } from "node:util";
import { OTHERS_READ } from "../../disk/modes.ts";
import { type NamedTensor, encodeHeader, tensorBytes } from "../gguf/header.ts";
import { padding } from "../gguf/tensorTypes.ts";
import type { Metadata } from "../gguf/values.ts";
import { writeWhole } from "../modelFiles/plainFile.ts";

export interface GgufContent {
  metadata: Metadata;
  tensors: readonly NamedTensor[];
  /** Each tensor's bytes, in their order; one's are made before the next is asked for. */
  contents: () => Iterable<Iterable<Uint8Array>>;
}

/**
 * Writes a GGUF file, flushed to the disk.
 * @param pause is awaited between blocks
 * @returns the bytes of the file
 */
export async function writeGguf(
  path: string,
  { metadata, tensors, contents }: GgufContent,
  pause: () => Promise<void>,
): Promise<number> {
  const output = openSync(path, "wx", OTHERS_READ);
  let bytes = 0;

  async function write(block: Uint8Array): Promise<void> {
    writeWhole(output, block);
    bytes += block.length;
    await pause();
  }

  try {
    await write(encodeHeader(metadata, tensors));
    let count = 0;
    for (const blocks of contents()) {
      const tensor = tensors[count++];
      const from = bytes;
      for (const block of blocks) await write(block);
      if (!tensor || bytes - from !== tensorBytes(tensor)) {
        throw new Error(`${tensor?.name ?? "no tensor"} has ${bytes - from} bytes`);
      }
      await write(new Uint8Array(padding(bytes)));
    }
    if (count < tensors.length) throw new Error(`${tensors[count]?.name} has no bytes`);
    // In the background: a large file takes longer than others take this process for alive.
    await promisify(fsync)(output);
  } finally {
    closeSync(output);
  }
  return bytes;
}
