import {
  GENERATION_CONFIG,
  CONFIG_FILE,
  TOKENIZER_CONFIG,
  TOKENIZER_FILE,
} from "../modelFiles/names.ts";

/** The keys of metadata that Kit reads again. */
export const KEYS = {
  architecture: "general.architecture",
  /** `model`, `adapter` or another. */
  kind: "general.type",
  alignment: "general.alignment",
  fileType: "general.file_type",
  /** Where the model came from, as other tools write it. */
  source: "general.source.huggingface.repository",
  sourceUrl: "general.source.url",
  chatTemplate: "tokenizer.chat_template",
  toolTemplate: "tokenizer.chat_template.tool_use",
} as const;

/** The keys of a model's own files, which the file holds as they are, by their names. */
export const FILE_KEYS: Record<string, string> = {
  [TOKENIZER_FILE]: "tokenizer.huggingface.json",
  [CONFIG_FILE]: "kit.config",
  [TOKENIZER_CONFIG]: "kit.tokenizer_config",
  [GENERATION_CONFIG]: "kit.generation_config",
};

/** Of the blocks of quantized types. */
export const QUANTIZATION_VERSION = 2;
