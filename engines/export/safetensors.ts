import { closeSync, fsync, openSync } from "node:fs";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { OTHERS_READ } from "../../disk/modes.ts";
import { CONFIG_FILE } from "../modelFiles/names.ts";
import { writeWhole } from "../modelFiles/plainFile.ts";
import type { ExportFormat } from "./format.ts";
import { type SourceFile, openSource } from "./source.ts";

/** Hugging Face's layout: the model's own files, each tensor in the type and the place that it has there. */
export const safetensors: ExportFormat = {
  mainFile: () => CONFIG_FILE,
  async write(checkpoint, to, { pause }) {
    const { companions, files } = openSource(checkpoint);
    for (const [name, content] of Object.entries(companions)) to.write(name, content);
    let bytes = 0;
    for (const file of files) bytes += await copy(file, join(to.path, basename(file.path)), pause);
    return bytes;
  },
};

/** @returns its bytes */
async function copy(
  { header, tensors }: SourceFile,
  to: string,
  pause: () => Promise<void>,
): Promise<number> {
  const output = openSync(to, "wx", OTHERS_READ);
  let bytes = 0;

  async function write(block: Uint8Array): Promise<void> {
    writeWhole(output, block);
    bytes += block.length;
    await pause();
  }

  try {
    await write(header());
    for (const { blocks } of tensors()) for (const block of blocks()) await write(block);
    // In the background: a large file takes longer than others take this process for alive.
    await promisify(fsync)(output);
  } finally {
    closeSync(output);
  }
  return bytes;
}
