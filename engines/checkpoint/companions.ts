import { join } from "node:path";
import type { LlamaShape } from "../families/dimensions.ts";
import { readBytes, readConfig } from "../modelFiles/configFile.ts";
import { CONFIG_FILE, GENERATION_CONFIG, TOKENIZER_FILES } from "../modelFiles/names.ts";
import type { PromptStyle } from "../tokens/tokenizer.ts";
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

/** The tokenizer, and the state of the training. */
export function companions({ shape, promptStyle, state, origin }: CheckpointNotes): Files {
  const tokenizer: Files = origin
    ? tokenizerCopies(origin, promptStyle)
    : {
        "tokenizer.json": json(tokenizerJson()),
        "tokenizer_config.json": json(tokenizerConfig(shape, promptStyle)),
      };
  return { ...tokenizer, ...(state && { "trainer_state.json": json(state) }) };
}

/** A directory's tokenizer, and how the model reads a bare prompt, if a training said so. */
export function tokenizerCopies(directory: string, promptStyle: PromptStyle | undefined): Files {
  const config = readConfig(join(directory, "tokenizer_config.json"), "optional");
  return {
    ...copies(directory, TOKENIZER_FILES),
    ...(promptStyle && {
      "tokenizer_config.json": json({ ...config, prompt_style: promptStyle }),
    }),
  };
}

/** A directory's `config.json` and `generation_config.json`. @param changes of the former */
export function configCopies(directory: string, changes: object = {}): Files {
  // Where the model once lay: its name on the hub, or a path on another machine.
  const { _name_or_path: _, ...config } = readConfig(join(directory, CONFIG_FILE));
  return {
    ...copies(directory, [GENERATION_CONFIG]),
    [CONFIG_FILE]: json({ ...config, ...changes }),
  };
}

/** `config.json` and `generation_config.json`. @param dtype of the weights, by PyTorch's name */
export function configs({ shape, origin }: CheckpointNotes, dtype: string): Files {
  if (!origin) {
    return {
      [CONFIG_FILE]: json(modelConfig(shape, dtype)),
      [GENERATION_CONFIG]: json(generationConfig()),
    };
  }
  const key = "dtype" in readConfig(join(origin, CONFIG_FILE)) ? "dtype" : "torch_dtype";
  return configCopies(origin, { [key]: dtype });
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
