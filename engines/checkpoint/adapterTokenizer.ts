import { existsSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import {
  CONFIG_FILE,
  GENERATION_CONFIG,
  TOKENIZER_CONFIG,
  TOKENIZER_FILE,
  TOKENIZER_FILES,
} from "../modelFiles/names.ts";
import { withoutTemplateDate } from "../tokens/templateDate.ts";
import { chatTemplates, completeTokenizer } from "./savedTokenizer.ts";
import { type TextFiles, directoryTexts } from "./textFiles.ts";

/** The tokenizer that an adapter was trained with, if it isn't its base's. */
export interface AdapterTokenizer {
  /** The adapter's tokenizer files, with the base's `config.json` and `generation_config.json` for the EOS tokens. */
  texts: TextFiles;
  /** Paths of the tokenizer files that exist. */
  files: readonly string[];
}

/**
 * The tokenizer in an adapter's directory, with its own chat template, as TRL and Axolotl save it.
 * @returns undefined if there is none, or if it equals the base's, as Kit saves it
 * @throws KitError `CHECKPOINT_INVALID` for a damaged file
 */
export function adapterTokenizer(adapter: string, base: string): AdapterTokenizer | undefined {
  if (!existsSync(join(adapter, TOKENIZER_FILE))) return undefined;
  const [adapterTexts, baseTexts] = [directoryTexts(adapter), directoryTexts(base)];
  if (isDeepStrictEqual(definitionOf(adapterTexts), definitionOf(baseTexts))) return undefined;
  const textsWith = (name = "") => (BASE_CONFIG_FILES.includes(name) ? baseTexts : adapterTexts);
  const files = TOKENIZER_FILES.map((name) => join(adapter, name)).filter((path) =>
    existsSync(path),
  );
  return {
    files,
    texts: {
      label: (name) => textsWith(name).label(name),
      json: (name) => textsWith(name).json(name),
      text: (name) => textsWith(name).text(name),
    },
  };
}

const BASE_CONFIG_FILES = [CONFIG_FILE, GENERATION_CONFIG];

/** What defines a tokenizer, without the metadata that Kit adds. */
function definitionOf(texts: TextFiles) {
  const config = withoutTemplateDate(texts.json(TOKENIZER_CONFIG) ?? {});
  const { prompt_style: _, chat_template: __, ...rest } = config;
  return [completeTokenizer(texts), chatTemplates(texts), rest];
}
