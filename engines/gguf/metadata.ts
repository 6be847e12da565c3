import {
  GENERATION_CONFIG,
  CONFIG_FILE,
  TOKENIZER_CONFIG,
  TOKENIZER_FILE,
} from "../modelFiles/names.ts";

/** A value of a file's metadata. */
export type Value =
  | { type: "uint32" | "int32" | "float32"; value: number }
  | { type: "bool"; value: boolean }
  | { type: "string"; value: string }
  | { type: "strings"; value: readonly string[] }
  | { type: "int32s" | "float32s"; value: readonly number[] };

/** By their keys, in the file's order. */
export type Metadata = Record<string, Value>;

/** GGUF's numbers of the types of values. */
export const VALUE_IDS = {
  ...{ uint8: 0, int8: 1, uint16: 2, int16: 3, uint32: 4, int32: 5, float32: 6, bool: 7 },
  ...{ string: 8, array: 9, uint64: 10, int64: 11, float64: 12 },
} as const;

export const uint32 = (value: number): Value => ({ type: "uint32", value });
export const float32 = (value: number): Value => ({ type: "float32", value });
export const bool = (value: boolean): Value => ({ type: "bool", value });
export const string = (value: string): Value => ({ type: "string", value });
export const strings = (value: readonly string[]): Value => ({ type: "strings", value });
export const float32s = (value: readonly number[]): Value => ({ type: "float32s", value });
export const int32s = (value: readonly number[]): Value => ({ type: "int32s", value });

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
