import { basename, join } from "node:path";
import { KitError } from "../../protocol/error.ts";
import { notFinite } from "../lora/updates.ts";
import { CONFIG_FILE } from "../modelFiles/names.ts";
import { NUMBER_TYPES, isDtype } from "../modelFiles/numberTypes.ts";
import { readFully, useFile } from "../modelFiles/regularFile.ts";
import { chunks } from "../modelFiles/tensors.ts";
import type { ExportFormat } from "./format.ts";
import { type SourceFile, openSource } from "./source.ts";
import { writeBlocks } from "./writeBlocks.ts";

/** Hugging Face's layout: the model's own files. Each tensor keeps its type and offset. */
export const safetensors: ExportFormat = {
  mainFile: () => CONFIG_FILE,
  async write(checkpoint, to, { pause }) {
    const { sidecarFiles, files } = openSource(checkpoint);
    for (const [name, content] of Object.entries(sidecarFiles)) to.write(name, content);
    let bytes = 0;
    for (const file of files) {
      bytes += await writeBlocks(join(to.path, basename(file.path)), blocksOf(file), pause);
    }
    return bytes;
  },
};

function* blocksOf({ path, start, tensors, weights }: SourceFile): Iterable<Uint8Array> {
  yield* copied(path, 0, start);
  for (const [name, { type, offset, bytes }] of tensors) {
    if (!isDtype(weights.tensors.get(name)?.type ?? type)) {
      yield* copied(path, offset, bytes);
      continue;
    }
    for (const rows of chunks(weights, name)) {
      const block = isDtype(type) && NUMBER_TYPES[type].encode(rows);
      if (!block) throw notFinite(name, path);
      yield block;
    }
  }
}

/** Bytes copied at a time. */
const COPIED_BYTES = 2 ** 20;

/** Copies bytes of a file. */
function* copied(path: string, from: number, bytes: number): Iterable<Uint8Array> {
  for (let at = from; at < from + bytes; at += COPIED_BYTES) {
    const block = new Uint8Array(Math.min(COPIED_BYTES, from + bytes - at));
    if (!useFile(path, ({ file }) => readFully(file, block, at))) {
      throw new KitError("CHECKPOINT_INVALID", `${path} is truncated. Use another checkpoint.`);
    }
    yield block;
  }
}
