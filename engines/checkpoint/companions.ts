import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { LlamaShape } from "../llama/dimensions.ts";
import type { PromptStyle } from "../tokens/tokenizer.ts";
import { readConfig } from "./configFile.ts";
import { generationConfig, modelConfig } from "./modelConfig.ts";
import { tokenizerConfig, tokenizerJson } from "./tokenizerFiles.ts";

/** The part of every saved directory besides its weights. */
export interface CheckpointNotes {
  shape: LlamaShape;
  promptStyle: PromptStyle;
  /** `trainer_state.json`; absent for a base that was never trained. */
  state?: object;
  /** Directory of the model that it began as, whose tokenizer and config go along; none for Kit's own. */
  origin?: string | undefined;
}

type Files = Record<string, string | Uint8Array>;

/** Whatever a tokenizer of Hugging Face's consists of. */
const TOKENIZER_FILES = [
  ...["tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "special_tokens_map.json"],
  ...["added_tokens.json", "vocab.json", "merges.txt", "tokenizer.model"],
];

/** The tokenizer, and the state of the training. */
export function companions({ shape, promptStyle, state, origin }: CheckpointNotes): Files {
  const tokenizer: Files = origin
    ? {
        ...copies(origin, TOKENIZER_FILES),
        "tokenizer_config.json": json({
          ...readConfig(join(origin, "tokenizer_config.json"), "optional"),
          prompt_style: promptStyle,
        }),
      }
    : {
        "tokenizer.json": json(tokenizerJson()),
        "tokenizer_config.json": json(tokenizerConfig(shape, promptStyle)),
      };
  return { ...tokenizer, ...(state && { "trainer_state.json": json(state) }) };
}

/** `config.json` and `generation_config.json`. @param dtype of the weights, by PyTorch's name */
export function configs({ shape, origin }: CheckpointNotes, dtype: string): Files {
  if (!origin) {
    return {
      "config.json": json(modelConfig(shape, dtype)),
      "generation_config.json": json(generationConfig()),
    };
  }
  const config = readConfig(join(origin, "config.json"));
  const key = "dtype" in config ? "dtype" : "torch_dtype";
  return {
    ...copies(origin, ["generation_config.json"]),
    "config.json": json({ ...config, [key]: dtype }),
  };
}

function copies(directory: string, names: string[]): Files {
  const there = names.filter((name) => existsSync(join(directory, name)));
  return Object.fromEntries(there.map((name) => [name, readFileSync(join(directory, name))]));
}

export function json(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
