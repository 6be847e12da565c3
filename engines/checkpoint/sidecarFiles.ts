import { existsSync } from "node:fs";
import { join } from "node:path";
import { TIED } from "../families/config.ts";
import type { Dimensions } from "../families/dimensions.ts";
import { readBytes, readConfig } from "../modelFiles/configFile.ts";
import {
  CONFIG_FILE,
  GENERATION_CONFIG,
  TEMPLATE_FILE,
  TOKENIZER_CONFIG,
  TOKENIZER_FILES,
  TOOLS_TEMPLATE_FILE,
} from "../modelFiles/names.ts";
import { namedStopTokens } from "../tokens/stopTokens.ts";
import { templateDateEntry } from "../tokens/templateDate.ts";
import type { PromptStyle } from "../tokens/tokenizer.ts";
import { generationConfig, modelConfig } from "./modelConfig.ts";
import { chatTemplates } from "./savedTokenizer.ts";
import { directoryTexts } from "./textFiles.ts";
import { tokenizerConfig, tokenizerJson } from "./tokenizerFiles.ts";

/** What a checkpoint has besides its weights. */
export interface CheckpointMetadata {
  shape: Dimensions;
  promptStyle: PromptStyle;
  /** When training started, for a chat template that writes the date. */
  templateDate?: Date | undefined;
  /** `trainer_state.json`; undefined for an untrained base. */
  state?: object;
  /** Stop token ids; only needed with an origin. */
  stopTokens?: readonly number[];
  /** Directory of the pretrained model, whose tokenizer and config are copied; undefined for a model of Kit's own. */
  origin?: string | undefined;
  /** Directory of the tokenizer, if it isn't the origin's. */
  tokenizerOrigin?: string | undefined;
}

type Files = Record<string, string | Uint8Array>;

/** Settings in which transformers keeps a model's former location: its name on the hub, or a path. */
const LOCATIONS = [
  ...["_name_or_path", "name_or_path", "cache_dir"],
  ...[
    "tokenizer_file",
    "vocab_file",
    "merges_file",
    "added_tokens_file",
    "special_tokens_map_file",
  ],
];

/** A config that names no place on a machine. */
export function withoutLocations(config: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(config).filter(([name]) => !LOCATIONS.includes(name)));
}

/** The tokenizer's files and `trainer_state.json`. */
export function sidecarFiles(metadata: CheckpointMetadata): Files {
  const { shape, promptStyle, templateDate, state, origin, tokenizerOrigin = origin } = metadata;
  const tokenizer: Files = tokenizerOrigin
    ? tokenizerCopies(tokenizerOrigin, promptStyle, templateDate)
    : {
        "tokenizer.json": json(tokenizerJson()),
        "tokenizer_config.json": json(tokenizerConfig(shape, promptStyle)),
      };
  return { ...tokenizer, ...(state && { "trainer_state.json": json(state) }) };
}

/** A directory's tokenizer files, with the prompt style recorded in training. */
export function tokenizerCopies(
  directory: string,
  promptStyle: PromptStyle | undefined,
  templateDate?: Date,
): Files {
  const config = readConfig(join(directory, TOKENIZER_CONFIG), "optional") ?? {};
  const kept = withoutLocations(config);
  const files = copies(directory, TOKENIZER_FILES);
  const templates = namedTemplates(directory);
  if (templates) delete files[TEMPLATE_FILE];
  const changes = {
    ...(templates && { chat_template: templates }),
    ...(promptStyle && { prompt_style: promptStyle }),
    ...(promptStyle && templateDate && templateDateEntry(templateDate)),
  };
  const isChanged = Object.keys(config).length > Object.keys(kept).length;
  if (isChanged || Object.keys(changes).length > 0) {
    files[TOKENIZER_CONFIG] = json({ ...kept, ...changes });
  }
  return files;
}

/** Both chat templates as a list for the config, if one is in a subfolder: checkpoints have no subfolders. */
function namedTemplates(directory: string) {
  if (!existsSync(join(directory, TOOLS_TEMPLATE_FILE))) return undefined;
  const { defaultTemplate, withTools } = chatTemplates(directoryTexts(directory));
  return [
    ...(defaultTemplate === undefined ? [] : [{ name: "default", template: defaultTemplate }]),
    { name: "tool_use", template: withTools },
  ];
}

/** A directory's `config.json` and `generation_config.json`. */
export function configCopies(directory: string, { stopTokens, changes }: ConfigChanges): Files {
  const config = withoutLocations(readConfig(join(directory, CONFIG_FILE)));
  const generation = readConfig(join(directory, GENERATION_CONFIG), "optional");
  const completed = withStopTokens(stopTokens, config, generation);
  return {
    ...copies(directory, [GENERATION_CONFIG]),
    ...(completed && { [GENERATION_CONFIG]: json(completed) }),
    [CONFIG_FILE]: json({ ...config, ...changes }),
  };
}

interface ConfigChanges {
  stopTokens: readonly number[];
  /** Changes to `config.json`. */
  changes?: object;
}

/**
 * A `generation_config.json` with all stop tokens, for other programs.
 * @returns undefined if the files already name them all
 */
export function withStopTokens(
  stopTokens: readonly number[],
  config: Record<string, unknown>,
  generation?: Record<string, unknown>,
): Record<string, unknown> | undefined {
  const named = namedStopTokens(generation ?? config);
  const missing = stopTokens.filter((id) => !named.includes(id));
  if (missing.length === 0) return undefined;
  const { bos_token_id, pad_token_id } = config;
  const ids = [...named, ...missing];
  return {
    ...(generation ?? { bos_token_id, pad_token_id }),
    eos_token_id: ids.length === 1 ? ids[0] : ids,
  };
}

/** `config.json` and `generation_config.json`. @param dtype of the weights, by PyTorch's name */
export function configs(
  { shape, origin, stopTokens = [] }: CheckpointMetadata,
  dtype: string,
): Files {
  if (!origin) {
    return {
      [CONFIG_FILE]: json(modelConfig(shape, dtype)),
      [GENERATION_CONFIG]: json(generationConfig()),
    };
  }
  const config = readConfig(join(origin, CONFIG_FILE));
  const isUntied = !shape.tied && config[TIED] !== false;
  return configCopies(origin, {
    stopTokens,
    changes: {
      ["dtype" in config ? "dtype" : "torch_dtype"]: dtype,
      ...(isUntied && { [TIED]: false }),
    },
  });
}

function copies(directory: string, names: string[]): Files {
  const files = names.map((name) => [name, readBytes(join(directory, name))] as const);
  return Object.fromEntries(
    files.flatMap(([name, bytes]) => (bytes ? [[name, bytes] as const] : [])),
  );
}

export function json(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
