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

/** A tokenizer that an adapter was trained with, in place of its base's. */
export interface AdapterTokenizer {
  /** The adapter's files, but for its base's configs, which say where answers end, too. */
  texts: TextFiles;
  /** Paths of those that are there. */
  files: readonly string[];
}

/**
 * The tokenizer in an adapter's directory, with a chat template of its own, as TRL's and Axolotl's are saved.
 * @returns undefined where there is none, or the same as the base's, as Kit saves it
 * @throws KitError `CHECKPOINT_INVALID` for a damaged file
 */
export function adapterTokenizer(adapter: string, base: string): AdapterTokenizer | undefined {
  if (!existsSync(join(adapter, TOKENIZER_FILE))) return undefined;
  const [own, ofBase] = [directoryTexts(adapter), directoryTexts(base)];
  if (isDeepStrictEqual(partsOf(own), partsOf(ofBase))) return undefined;
  const of = (name = "") => (MODEL_FILES.includes(name) ? ofBase : own);
  const files = TOKENIZER_FILES.map((name) => join(adapter, name)).filter((path) =>
    existsSync(path),
  );
  return {
    files,
    texts: {
      label: (name) => of(name).label(name),
      json: (name) => of(name).json(name),
      text: (name) => of(name).text(name),
    },
  };
}

const MODEL_FILES = [CONFIG_FILE, GENERATION_CONFIG];

/** What texts become by, without Kit's own notes of a training. */
function partsOf(texts: TextFiles) {
  const config = withoutTemplateDate(texts.json(TOKENIZER_CONFIG) ?? {});
  const { prompt_style: _, chat_template: __, ...rest } = config;
  return [completeTokenizer(texts), chatTemplates(texts), rest];
}
