import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { isRecord } from "../../protocol/isRecord.ts";

export const CONFIG_FILE = "config.json";
export const GENERATION_CONFIG = "generation_config.json";
export const WEIGHTS_FILE = "model.safetensors";
/** Lists the weight files of a sharded model. */
export const WEIGHTS_INDEX = "model.safetensors.index.json";

/** A config takes a few KiB, the index of a hundred files less than one MiB. */
export const MAX_CONFIG_MIB = 4;
/** `tokenizer.json` of 250,000 tokens takes 20 MiB. */
export const MAX_TOKENIZER_MIB = 128;

/** The only file that every tokenizer needs. */
export const TOKENIZER_FILE = "tokenizer.json";

/** A tokenizer's settings, often with the chat template. Nearly every model has one. */
export const TOKENIZER_CONFIG = "tokenizer_config.json";

export const TEMPLATE_FILE = "chat_template.jinja";
/** The chat template for conversations with tools, if it is a separate one. */
export const TOOLS_TEMPLATE_FILE = "additional_chat_templates/tool_use.jinja";

/** Files of a Hugging Face tokenizer. */
export const TOKENIZER_FILES = [
  TOKENIZER_FILE,
  TOKENIZER_CONFIG,
  TEMPLATE_FILE,
  "special_tokens_map.json",
  "added_tokens.json",
  "vocab.json",
  "merges.txt",
  "tokenizer.model",
];

/** Files of a model besides its config and weights. Few models have all. */
export const SIDECAR_FILES = [GENERATION_CONFIG, ...TOKENIZER_FILES, TOOLS_TEMPLATE_FILE];

/** The small files of a repository that say which others to download. */
export function firstFiles(names: string[]): string[] {
  const index = names.includes(WEIGHTS_FILE) ? [] : [WEIGHTS_INDEX];
  return [CONFIG_FILE, ...index].filter((name) => names.includes(name));
}

export function hasWeights(names: string[]): boolean {
  return names.includes(WEIGHTS_FILE) || names.includes(WEIGHTS_INDEX);
}

/** Whether a folder has all files that a model needs. */
export function hasAllFiles(directory: string): boolean {
  const weights = listedWeights(directory);
  const needed = [CONFIG_FILE, TOKENIZER_FILE, ...weights];
  return weights.length > 0 && needed.every((file) => existsSync(join(directory, file)));
}

/**
 * Names of a model's weight files, from the index if there is one; empty for a damaged index.
 */
export function listedWeights(directory: string): string[] {
  const index = join(directory, WEIGHTS_INDEX);
  if (existsSync(join(directory, WEIGHTS_FILE)) || !existsSync(index)) return [WEIGHTS_FILE];
  try {
    // Reading a pipe or device may never end.
    if (!statSync(index).isFile()) return [];
    const content: unknown = JSON.parse(readFileSync(index, "utf8"));
    const map = isRecord(content) ? content["weight_map"] : undefined;
    const names = Object.values(isRecord(map) ? map : {});
    return names.every(isWeightsName) ? [...new Set(names)] : [];
  } catch {
    // A damaged index lists nothing.
    return [];
  }
}

/** Whether it names a safetensors file in the same folder. */
function isWeightsName(name: unknown): name is string {
  return typeof name === "string" && /^\w[\w.-]*\.safetensors$/.test(name);
}
