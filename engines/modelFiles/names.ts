import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { isRecord } from "../../protocol/isRecord.ts";

export const CONFIG_FILE = "config.json";
export const GENERATION_CONFIG = "generation_config.json";
export const WEIGHTS_FILE = "model.safetensors";
/** Names the files of weights that are in several. */
export const WEIGHTS_INDEX = "model.safetensors.index.json";

/** A configuration takes a few KiB, the index of a model in a hundred files less than one MiB. */
export const MOST_CONFIG_MIB = 4;
/** `tokenizer.json` of 250,000 tokens takes 20. */
export const MOST_TOKENIZER_MIB = 128;

/** The part of a tokenizer that no model can do without. */
export const TOKENIZER_FILE = "tokenizer.json";

/** Says how a tokenizer is used, and often the chat template. Nearly every model has one. */
export const TOKENIZER_CONFIG = "tokenizer_config.json";

export const TEMPLATE_FILE = "chat_template.jinja";
/** The chat template of conversations with tools, where they have one of their own. */
export const TOOLS_TEMPLATE_FILE = "additional_chat_templates/tool_use.jinja";

/** What a tokenizer of Hugging Face's consists of. */
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

/** What a model is used with, besides its weights. Few have all of them. */
export const COMPANION_FILES = [GENERATION_CONFIG, ...TOKENIZER_FILES, TOOLS_TEMPLATE_FILE];

/** The files that say what the others are: small ones, of those that a repository has. */
export function firstFiles(names: string[]): string[] {
  const index = names.includes(WEIGHTS_FILE) ? [] : [WEIGHTS_INDEX];
  return [CONFIG_FILE, ...index].filter((name) => names.includes(name));
}

export function hasWeights(names: string[]): boolean {
  return names.includes(WEIGHTS_FILE) || names.includes(WEIGHTS_INDEX);
}

/** Whether a folder has all that a model can't do without. */
export function hasAllFiles(directory: string): boolean {
  const weights = listedWeights(directory);
  const needed = [CONFIG_FILE, TOKENIZER_FILE, ...weights];
  return weights.length > 0 && needed.every((file) => existsSync(join(directory, file)));
}

/**
 * The names of a model's weights: those that the index lists, if it is there; else one file. None for
 * an index that is damaged.
 */
export function listedWeights(directory: string): string[] {
  const index = join(directory, WEIGHTS_INDEX);
  if (existsSync(join(directory, WEIGHTS_FILE)) || !existsSync(index)) return [WEIGHTS_FILE];
  try {
    // Reading a pipe or a device may never end.
    if (!statSync(index).isFile()) return [];
    const content: unknown = JSON.parse(readFileSync(index, "utf8"));
    const map = isRecord(content) ? content["weight_map"] : undefined;
    const names = Object.values(isRecord(map) ? map : {});
    return names.every(isWeightsName) ? [...new Set(names)] : [];
  } catch {
    // It lists nothing.
    return [];
  }
}

/** Whether it names a file of the same folder, of this format. */
function isWeightsName(name: unknown): name is string {
  return typeof name === "string" && /^\w[\w.-]*\.safetensors$/.test(name);
}
