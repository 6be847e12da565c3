import { existsSync } from "node:fs";
import { join } from "node:path";
import { KitError } from "../../protocol/error.ts";
import type { LoraConfig } from "../../protocol/trainConfig.ts";
import type { Dimensions } from "../families/dimensions.ts";
import { openAdapterTensors } from "../lora/adapterTensors.ts";
import { type FoundAdapter, findAdapter } from "../lora/base.ts";
import { ADAPTER_CONFIG, ADAPTER_FILE, adapterConfig, toPeftNames } from "../lora/peftConfig.ts";
import { type Updates, merged, updatesOf } from "../lora/updates.ts";
import { WEIGHTS_FILE } from "../modelFiles/names.ts";
import { writeSafetensors } from "../modelFiles/safetensors.ts";
import type { TensorSource } from "../modelFiles/tensors.ts";
import { type StoredWeights, type Weights, isBfloat16 } from "../modelFiles/weights.ts";
import type { PromptStyle, Tokenizer } from "../tokens/tokenizer.ts";
import { adapterTokenizer } from "./adapterTokenizer.ts";
import { writeDirectory } from "./directory.ts";
import { isModelFile, openGguf } from "./ggufModel.ts";
import { openModel, weightFiles } from "./savedModel.ts";
import {
  type SavedTokenizer,
  openTokenizer,
  promptStyleOf,
  templateDateOf,
} from "./savedTokenizer.ts";
import { type CheckpointMetadata, sidecarFiles, configs, json } from "./sidecarFiles.ts";
import { directoryTexts } from "./textFiles.ts";

export interface SavedWeights {
  shape: Dimensions;
  /** With an adapter, those of its base with the adapter merged. */
  weights: TensorSource;
  /** The model itself, or an adapter's base. */
  base: SavedBase;
  updates?: Updates;
  /** From the checkpoint itself, not from its base. */
  promptStyle?: PromptStyle | undefined;
  /** From the checkpoint itself, not from its base. */
  templateDate?: Date | undefined;
}

/** A whole model on disk. */
export interface SavedBase {
  weights: TensorSource;
  /** Paths of its weights and, with an adapter, of the adapter's tokenizer. */
  files: readonly string[];
  /** Undefined for a GGUF file. */
  directory?: string;
  /** Directory of the tokenizer, if it isn't the model's: that of an adapter with its own. */
  tokenizerDirectory?: string;
  openTokenizer: () => SavedTokenizer;
}

export interface Checkpoint extends SavedWeights {
  promptStyle: PromptStyle;
  tokenizer: Tokenizer;
  /** Directory of the pretrained model; undefined for a model of Kit's own. */
  origin: string | undefined;
  /** Directory of the tokenizer, if it isn't the origin's. */
  tokenizerOrigin: string | undefined;
}

/** Saves a whole model. */
export function saveModel(
  path: string,
  weights: StoredWeights,
  metadata: CheckpointMetadata,
): void {
  writeDirectory(path, modelFiles(weights, metadata));
}

/** The files of a whole model in Hugging Face's layout, by name. */
export function modelFiles(weights: StoredWeights, metadata: CheckpointMetadata) {
  const dtype = Object.values(weights).every(isBfloat16) ? "bfloat16" : "float32";
  return {
    ...configs(metadata, dtype),
    [WEIGHTS_FILE]: writeSafetensors(weights),
    ...sidecarFiles(metadata),
  };
}

/** The files of an adapter in PEFT's layout, by name. @param base as in `adapterConfig` */
export function adapterFiles(
  adapter: Weights,
  { lora, base, ...metadata }: CheckpointMetadata & { lora: LoraConfig; base: string },
) {
  return {
    [ADAPTER_CONFIG]: json(adapterConfig(lora, base)),
    [ADAPTER_FILE]: writeSafetensors(toPeftNames(adapter)),
    ...sidecarFiles(metadata),
  };
}

/**
 * Opens a model's directory, an adapter's with its base, or a GGUF file that Kit wrote.
 * @throws KitError `CHECKPOINT_INVALID` when a file is missing, damaged or of another model
 */
export function openCheckpoint(path: string): Checkpoint {
  const found = openWeights(path);
  const { isByteTokenizer, ...saved } = found.base.openTokenizer();
  const promptStyle = found.promptStyle ?? saved.promptStyle;
  const tokenizer = tokenizerAt(saved.tokenizer, found.templateDate);
  const { directory: origin, tokenizerDirectory: tokenizerOrigin } = isByteTokenizer
    ? {}
    : found.base;
  return { ...found, tokenizer, promptStyle, origin, tokenizerOrigin };
}

/** The tokenizer whose chat template writes `date`, if it writes a date at all. */
export function tokenizerAt(tokenizer: Tokenizer, date: Date | undefined): Tokenizer {
  return date ? (tokenizer.at?.(date) ?? tokenizer) : tokenizer;
}

const MARKER_FILES = ["config.json", ADAPTER_CONFIG];

/** @throws KitError `MODEL_UNKNOWN` for a path without a checkpoint */
export function assertCheckpoint(path: string): void {
  if (MARKER_FILES.some((file) => existsSync(join(path, file)))) return;
  throw new KitError(
    "MODEL_UNKNOWN",
    `There is no checkpoint at ${path}. Name a directory with ${MARKER_FILES.join(" or ")}.`,
  );
}

/**
 * As `openCheckpoint`, without the tokenizer.
 * @throws KitError `CHECKPOINT_INVALID`
 */
export function openWeights(path: string): SavedWeights {
  if (isModelFile(path)) return openGguf(path);
  const adapter = findAdapter(path);
  const saved = adapter ? openAdapter(path, adapter) : openBase(path);
  const texts = directoryTexts(path);
  return { ...saved, promptStyle: promptStyleOf(texts), templateDate: templateDateOf(texts) };
}

function openBase(directory: string): SavedWeights {
  const { shape, weights } = openModel(directory);
  const base = {
    weights,
    directory,
    files: weightFiles(directory).files,
    openTokenizer: () => openTokenizer(directory, shape.vocabulary),
  };
  return { shape, weights, base };
}

function openAdapter(path: string, adapter: FoundAdapter): SavedWeights {
  const { base: directory } = adapter;
  const { shape, base: model } = openBase(directory);
  const ownTokenizer = adapterTokenizer(path, directory);
  const base = ownTokenizer
    ? {
        ...model,
        files: [...model.files, ...ownTokenizer.files],
        tokenizerDirectory: path,
        openTokenizer: () => openTokenizer(ownTokenizer.texts, shape.vocabulary),
      }
    : model;
  const updates = updatesOf(openAdapterTensors(path, adapter, shape), adapter);
  return { shape, base, updates, weights: merged(base.weights, updates, directory) };
}
