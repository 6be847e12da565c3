import { existsSync } from "node:fs";
import { join } from "node:path";
import { KitError } from "../../protocol/error.ts";
import type { LoraConfig } from "../../protocol/trainConfig.ts";
import { type LlamaShape, dimensionsOf } from "../families/dimensions.ts";
import { addingUpdate, updatesOf } from "../lora/adapter.ts";
import { openAdapterTensors } from "../lora/adapterTensors.ts";
import { findBase } from "../lora/base.ts";
import {
  type SavedAdapter,
  ADAPTER_CONFIG,
  ADAPTER_FILE,
  adapterConfig,
  adapterOf,
  fromPeftNames,
  peftName,
  toPeftNames,
} from "../lora/peftConfig.ts";
import { readConfig } from "../modelFiles/configFile.ts";
import { WEIGHTS_FILE } from "../modelFiles/names.ts";
import { writeSafetensors } from "../modelFiles/safetensors.ts";
import type { WeightsFile } from "../modelFiles/tensorFiles.ts";
import {
  type AllocateTensor,
  type StoredWeights,
  type Weights,
  isBfloat16,
  rowsInto,
  widen,
} from "../modelFiles/weights.ts";
import type { PromptStyle, Tokenizer } from "../tokens/tokenizer.ts";
import { type CheckpointNotes, companions, configs, json } from "./companions.ts";
import { writeDirectory } from "./directory.ts";
import { isModelFile, openGguf } from "./ggufModel.ts";
import { type SavedModel, openModel } from "./savedModel.ts";
import { openTokenizer, promptStyleOf } from "./savedTokenizer.ts";

/** A model that was saved; an adapter is merged into its base. */
export interface Checkpoint {
  shape: LlamaShape;
  promptStyle: PromptStyle;
  weights: WeightsFile;
  tokenizer: Tokenizer;
  /** Directory of the model that it began as; none for Kit's own. */
  origin: string | undefined;
}

/** Saves a whole model. */
export function saveModel(path: string, weights: StoredWeights, notes: CheckpointNotes): void {
  writeDirectory(path, modelFiles(weights, notes));
}

/** The files of a whole model in Hugging Face's layout, by their names. */
export function modelFiles(weights: StoredWeights, notes: CheckpointNotes) {
  const dtype = Object.values(weights).every(isBfloat16) ? "bfloat16" : "float32";
  return {
    ...configs(notes, dtype),
    [WEIGHTS_FILE]: writeSafetensors(weights),
    ...companions(notes),
  };
}

/** An adapter in PEFT's layout. @param base of `adapterConfig` */
export function adapterFiles(
  adapter: Weights,
  { lora, base, ...notes }: CheckpointNotes & { lora: LoraConfig; base: string },
) {
  return {
    [ADAPTER_CONFIG]: json(adapterConfig(lora, base)),
    [ADAPTER_FILE]: writeSafetensors(toPeftNames(adapter)),
    ...companions(notes),
  };
}

/**
 * Opens a model's directory, an adapter's with its base, or a GGUF file that Kit wrote.
 * @throws KitError `CHECKPOINT_INVALID` when a file is missing, damaged or of another model
 */
export function openCheckpoint(path: string): Checkpoint {
  // Nothing trains from a file, so none is kept as the origin.
  if (isModelFile(path)) return { ...openGguf(path), origin: undefined };
  const adapter = readConfig(join(path, ADAPTER_CONFIG), "optional");
  const { model, ...found } = adapter
    ? readAdapter(path, adapter)
    : { ...openModel(path), model: path };
  const { isOwn, ...saved } = openTokenizer(model, dimensionsOf(found.shape).vocabulary);
  const promptStyle = promptStyleOf(path) ?? saved.promptStyle;
  return { ...found, ...saved, promptStyle, origin: isOwn ? undefined : model };
}

const CHECKPOINT_MARKS = ["config.json", ADAPTER_CONFIG];

/** @throws KitError `MODEL_UNKNOWN` when a model's path leads to no checkpoint */
export function assertCheckpoint(path: string): void {
  if (CHECKPOINT_MARKS.some((file) => existsSync(join(path, file)))) return;
  throw new KitError(
    "MODEL_UNKNOWN",
    `There is no checkpoint at ${path}. Name a directory with ${CHECKPOINT_MARKS.join(" or ")}.`,
  );
}

/** A model, and the directory of its base. */
type Model = SavedModel & { model: string };

function readAdapter(path: string, config: Record<string, unknown>): Model {
  const adapter = adapterOf(join(path, ADAPTER_CONFIG), config);
  const base = findBase(path, adapter.base);
  const saved = openModel(base);
  const tensors = openAdapterTensors(path, config, adapter, saved.shape);
  return { ...saved, model: base, weights: mergedFile(saved.weights, tensors, adapter) };
}

/** The base with the adapter's updates, where it has any, in float32: added while its rows are read. */
function mergedFile(base: WeightsFile, adapter: WeightsFile, scale: SavedAdapter): WeightsFile {
  const isUpdated = (name: string) =>
    adapter.names.has(peftName(name.replace(/weight$/, "lora_A.weight")));

  function read(room?: AllocateTensor): StoredWeights {
    const updates = updatesOf(widen(fromPeftNames(adapter.read())), scale);
    const merged: StoredWeights = {};
    const rest = base.read((name, count, isBf16) => {
      const update = updates[name];
      if (!update) return room?.(name, count, isBf16);
      const place = room?.(name, count, false);
      const data = place ?? new Float32Array(count);
      const columns = update.a.length / update.r;
      if (!place) merged[name] = { shape: [count / columns, columns], data: data as Float32Array };
      return addingUpdate(update, typeof data === "function" ? data : rowsInto(data));
    });
    return { ...rest, ...merged };
  }
  return {
    names: base.names,
    bfloat16: new Set([...base.bfloat16].filter((name) => !isUpdated(name))),
    read,
  };
}
