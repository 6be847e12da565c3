import { KitError } from "../../protocol/error.ts";
import { isQuantizedType } from "../../protocol/exportFormat.ts";
import { openModel } from "../checkpoint/savedModel.ts";
import { FILE_TYPES } from "../families/matrixTypes.ts";
import { architectureOf, permutedRows } from "../gguf/architecture.ts";
import { type WrittenTensor, ggufBlocks } from "../gguf/header.ts";
import { KEYS, QUANTIZATION_VERSION, float32, string, uint32 } from "../gguf/metadata.ts";
import { permuted } from "../gguf/ropePermutation.ts";
import { ggufName } from "../gguf/tensorNames.ts";
import { openAdapterTensors } from "../lora/adapterTensors.ts";
import { findAdapter } from "../lora/base.ts";
import { fromPeftNames, moduleOf } from "../lora/peftConfig.ts";
import { NUMBER_TYPES } from "../modelFiles/numberTypes.ts";
import { columnsOf, readAll } from "../modelFiles/tensors.ts";
import { widen } from "../modelFiles/weights.ts";
import type { FormatOptions } from "./format.ts";
import { writeBlocks } from "./writeBlocks.ts";

/**
 * Writes an adapter without its base, for llama.cpp's `--lora`.
 * @returns its size in bytes
 * @throws KitError `CHECKPOINT_INVALID`, `CONFIG_INVALID` for a whole model or a quantized type
 */
export async function writeAdapter(
  checkpoint: string,
  path: string,
  { name, type = "f32" }: FormatOptions,
  pause: () => Promise<void>,
): Promise<number> {
  const adapter = findAdapter(checkpoint);
  if (!adapter) {
    throw new KitError(
      "CONFIG_INVALID",
      `${checkpoint} is a whole model, not an adapter. Export it without --adapter.`,
    );
  }
  if (isQuantizedType(type)) {
    throw new KitError(
      "CONFIG_INVALID",
      "An adapter cannot be quantized. Use --type f32, f16 or bf16.",
    );
  }
  const { encode } = NUMBER_TYPES[type];
  const d = openModel(adapter.base).shape;
  const architecture = architectureOf(d, adapter.base);
  const weights = widen(fromPeftNames(readAll(openAdapterTensors(checkpoint, adapter, d))));
  // llama.cpp takes 0 for a missing α.
  const alpha = adapter.alpha === 0 ? 1 : adapter.alpha;
  const { scaleOf, rankOf } = adapter;

  const tensors = Object.entries(weights).map(([tensorName, { shape, data }]): WrittenTensor => {
    const module = moduleOf(tensorName);
    // llama.cpp divides one α by each module's rank, so B makes up for a module's own scale.
    const factor = tensorName.endsWith(".lora_B.weight")
      ? (scaleOf(module) * rankOf(module)) / alpha
      : 1;

    function blocks() {
      const unit = permutedRows(architecture, tensorName, d);
      const scaled = data.map((value) => value * factor);
      const ordered = unit === 1 ? scaled : permuted(scaled, unit, columnsOf(shape));
      const bytes = encode(ordered);
      if (bytes) return [bytes];
      throw new KitError(
        "CONFIG_INVALID",
        `${tensorName} is too large for ${type}. Use --type f32.`,
      );
    }
    return { name: ggufName(tensorName, architecture.modules), type, shape, blocks };
  });

  const metadata = {
    [KEYS.architecture]: string(architecture.name),
    [KEYS.kind]: string("adapter"),
    "general.name": string(name),
    "adapter.type": string("lora"),
    "adapter.lora.alpha": float32(alpha),
    [KEYS.fileType]: uint32(FILE_TYPES[type]),
    "general.quantization_version": uint32(QUANTIZATION_VERSION),
  };
  return writeBlocks(path, ggufBlocks(metadata, tensors), pause);
}
