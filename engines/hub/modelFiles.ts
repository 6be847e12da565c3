import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isRecord } from "../../protocol/isRecord.ts";

export const CONFIG_FILE = "config.json";
const WEIGHTS_FILE = "model.safetensors";
const INDEX_FILE = "model.safetensors.index.json";

/** What a model is used with, besides its weights. */
const COMPANIONS = [
  "generation_config.json",
  "tokenizer.json",
  "tokenizer_config.json",
  "special_tokens_map.json",
  "added_tokens.json",
  "vocab.json",
  "merges.txt",
  "tokenizer.model",
  "chat_template.jinja",
  "chat_template.json",
];

/** The files that say what the others are: small ones, of those that a repository has. */
export function firstFiles(names: string[]): string[] {
  const index = names.includes(WEIGHTS_FILE) ? [] : [INDEX_FILE];
  return [CONFIG_FILE, ...index].filter((name) => names.includes(name));
}

export function companionFiles(names: string[]): string[] {
  return COMPANIONS.filter((name) => names.includes(name));
}

export function hasWeights(names: string[]): boolean {
  return names.includes(WEIGHTS_FILE) || names.includes(INDEX_FILE);
}

/**
 * The names of a model's weights: those that the index lists, if it is there; else one file. None for
 * an index that is damaged.
 */
export function weightFiles(directory: string): string[] {
  const index = join(directory, INDEX_FILE);
  if (existsSync(join(directory, WEIGHTS_FILE)) || !existsSync(index)) return [WEIGHTS_FILE];
  try {
    const content: unknown = JSON.parse(readFileSync(index, "utf8"));
    const map = isRecord(content) ? content["weight_map"] : undefined;
    const names = Object.values(isRecord(map) ? map : {});
    return names.every(isPlainName) ? [...new Set(names)] : [];
  } catch {
    // It lists nothing.
    return [];
  }
}

/** Whether it names a file of the same folder. */
function isPlainName(name: unknown): name is string {
  return typeof name === "string" && /^\w[\w.-]*$/.test(name);
}
