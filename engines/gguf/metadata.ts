import {
  GENERATION_CONFIG,
  CONFIG_FILE,
  TOKENIZER_CONFIG,
  TOKENIZER_FILE,
} from "../modelFiles/names.ts";

export type Value =
  | { type: "uint32" | "int32" | "float32"; value: number }
  | { type: "bool"; value: boolean }
  | { type: "string"; value: string }
  | { type: "strings"; value: readonly string[] }
  | { type: "int32s" | "float32s"; value: readonly number[] };

/** Values by key, in the file's order. */
export type Metadata = Record<string, Value>;

/** GGUF's ids of value types. */
export const VALUE_IDS = {
  uint8: 0,
  int8: 1,
  uint16: 2,
  int16: 3,
  uint32: 4,
  int32: 5,
  float32: 6,
  bool: 7,
  string: 8,
  array: 9,
  uint64: 10,
  int64: 11,
  float64: 12,
} as const;

export const uint32 = (value: number): Value => ({ type: "uint32", value });
export const float32 = (value: number): Value => ({ type: "float32", value });
export const bool = (value: boolean): Value => ({ type: "bool", value });
export const string = (value: string): Value => ({ type: "string", value });
export const strings = (value: readonly string[]): Value => ({ type: "strings", value });
export const float32s = (value: readonly number[]): Value => ({ type: "float32s", value });
export const int32s = (value: readonly number[]): Value => ({ type: "int32s", value });

/** Metadata keys that Kit reads. */
export const KEYS = {
  architecture: "general.architecture",
  /** `model`, `adapter` or another. */
  kind: "general.type",
  alignment: "general.alignment",
  fileType: "general.file_type",
  /** The model's origin, as other tools write it. */
  source: "general.source.huggingface.repository",
  sourceUrl: "general.source.url",
  chatTemplate: "tokenizer.chat_template",
  toolTemplate: "tokenizer.chat_template.tool_use",
} as const;

/** Keys under which a GGUF file contains a model's own files, by file name. */
export const FILE_KEYS: Record<string, string> = {
  [TOKENIZER_FILE]: "tokenizer.huggingface.json",
  [CONFIG_FILE]: "kit.config",
  [TOKENIZER_CONFIG]: "kit.tokenizer_config",
  [GENERATION_CONFIG]: "kit.generation_config",
};

/** Version of ggml's quantized blocks. */
export const QUANTIZATION_VERSION = 2;
