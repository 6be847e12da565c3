import { join } from "node:path";
import { KitError } from "../../protocol/error.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { type Config, readConfig, readText } from "../modelFiles/configFile.ts";
import { MAX_TOKENIZER_MIB, TOKENIZER_FILE } from "../modelFiles/names.ts";

/** A model's text files, in a directory or inside a GGUF file. */
export interface TextFiles {
  /** Path of a file, or of the model, for errors. */
  label: (name?: string) => string;
  /** @throws KitError `CHECKPOINT_INVALID` for a damaged file */
  json: (name: string) => Config | undefined;
  text: (name: string) => string | undefined;
}

export function directoryTexts(directory: string): TextFiles {
  const label = (name = "") => join(directory, name);
  return {
    label,
    json: (name) =>
      readConfig(label(name), "optional", name === TOKENIZER_FILE ? MAX_TOKENIZER_MIB : undefined),
    text: (name) => readText(label(name)),
  };
}

/** Files already in memory. @param model its path */
export function inMemoryTexts(
  model: string,
  files: Readonly<Record<string, string | Uint8Array | undefined>>,
): TextFiles {
  const label = (name?: string) => (name === undefined ? model : `${name} in ${model}`);
  const text = (name: string) => {
    const file = files[name];
    return file === undefined || typeof file === "string" ? file : Buffer.from(file).toString();
  };
  const cache = new Map<string, Config>();
  return {
    label,
    text,
    json(name) {
      const found = text(name);
      if (found === undefined) return undefined;
      const value = cache.get(name) ?? parsed(found);
      if (isRecord(value)) {
        cache.set(name, value);
        return value;
      }
      throw new KitError(
        "CHECKPOINT_INVALID",
        `${label(name)} is not a JSON object. Save or download it again.`,
      );
    },
  };
}

/** Undefined for invalid JSON. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The caller reports the damage.
    return undefined;
  }
}
