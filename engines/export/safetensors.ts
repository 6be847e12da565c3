import { basename, join } from "node:path";
import { CONFIG_FILE } from "../modelFiles/names.ts";
import type { ExportFormat } from "./format.ts";
import { type SourceFile, openSource } from "./source.ts";
import { writeBlocks } from "./writeBlocks.ts";

/** Hugging Face's layout: the model's own files, each tensor in the type and the place that it has there. */
export const safetensors: ExportFormat = {
  mainFile: () => CONFIG_FILE,
  async write(checkpoint, to, { pause }) {
    const { companions, files } = openSource(checkpoint);
    for (const [name, content] of Object.entries(companions)) to.write(name, content);
    let bytes = 0;
    for (const file of files) {
      bytes += await writeBlocks(join(to.path, basename(file.path)), blocksOf(file), pause);
    }
    return bytes;
  },
};

function* blocksOf({ header, tensors }: SourceFile): Iterable<Uint8Array> {
  yield header();
  for (const { blocks } of tensors()) yield* blocks();
}
