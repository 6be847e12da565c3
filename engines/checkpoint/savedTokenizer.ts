import { join } from "node:path";
import { isRecord } from "../../protocol/isRecord.ts";
import { readConfig, readText } from "../modelFiles/configFile.ts";
import { MOST_TOKENIZER_MIB } from "../modelFiles/names.ts";
import { BYTE_TOKENIZER } from "../tokens/byteTokenizer.ts";
import { VOCABULARY } from "../tokens/byteTokens.ts";
import { type Render, createRender } from "../tokens/chatTemplate.ts";
import { createFileTokenizer } from "../tokens/fileTokenizer.ts";
import type { PromptStyle, Tokenizer } from "../tokens/tokenizer.ts";

type Config = Record<string, unknown>;

/** A model's tokens, and how it reads a bare prompt unless a training said otherwise. */
export interface SavedTokenizer {
  tokenizer: Tokenizer;
  promptStyle: PromptStyle;
  /** Whether it is Kit's own, of bytes. */
  isOwn: boolean;
}

/**
 * Opens the tokenizer in a model's directory: Kit's own, or the one that `tokenizer.json` describes.
 * @param vocabulary of the model, a count of numbers that it scores
 * @throws KitError `CHECKPOINT_INVALID` when a file is missing or damaged
 */
export function openTokenizer(directory: string, vocabulary: number): SavedTokenizer {
  const config = readConfig(join(directory, "tokenizer_config.json"), "optional") ?? {};
  const path = join(directory, "tokenizer.json");
  const tokenizer = readConfig(path, "optional", MOST_TOKENIZER_MIB);
  if (vocabulary === VOCABULARY && (!tokenizer || isByteLevel(tokenizer))) {
    return { tokenizer: BYTE_TOKENIZER, isOwn: true, promptStyle: "message" };
  }
  const specials = specialTexts({ ...optional(directory, "special_tokens_map.json"), ...config });
  const render = renderOf(directory, config, specials);
  const opened = createFileTokenizer({
    ...{ path, config, vocabulary, specials, render },
    tokenizer: tokenizer ?? readConfig(path),
    ends: endIds(optional(directory, "generation_config.json")),
  });
  return { tokenizer: opened, isOwn: false, promptStyle: render ? "message" : "text" };
}

/** The prompt style that a saved directory names: Kit's own entry in `tokenizer_config.json`. */
export function promptStyleOf(directory: string): PromptStyle | undefined {
  const { prompt_style: style } = optional(directory, "tokenizer_config.json");
  return style === "text" || style === "message" ? style : undefined;
}

function optional(directory: string, name: string): Config {
  return readConfig(join(directory, name), "optional") ?? {};
}

/** Whether a `tokenizer.json` is the one that Kit writes: bytes, without a merge. */
function isByteLevel({ model }: Config): boolean {
  if (!isRecord(model) || !isRecord(model["vocab"])) return false;
  const merges = model["merges"];
  return Array.isArray(merges) && merges.length === 0 && Object.keys(model["vocab"]).length === 256;
}

/** Each `…_token` of a config, a text or an object with one. */
function specialTexts(config: Config): Record<string, string> {
  const texts = Object.entries(config).map(([name, value]): [string, unknown] => [
    name,
    isRecord(value) ? value["content"] : value,
  ]);
  const isText = (entry: [string, unknown]): entry is [string, string] =>
    entry[0].endsWith("_token") && typeof entry[1] === "string";
  return Object.fromEntries(texts.filter(isText));
}

/** The template lies in a file of its own, or in the config: a text, or several with names. */
function renderOf(
  directory: string,
  { chat_template: template }: Config,
  specials: Record<string, string>,
): Render | undefined {
  const named = (Array.isArray(template) ? template : []).filter(isRecord);
  const ofName = (name: string) => named.find((one) => one["name"] === name)?.["template"];
  const usual = readText(join(directory, "chat_template.jinja")) ?? ofName("default") ?? template;
  const withTools =
    readText(join(directory, "additional_chat_templates", "tool_use.jinja")) ?? ofName("tool_use");
  if (typeof usual !== "string") return undefined;
  const render = createRender(usual, specials, directory);
  if (typeof withTools !== "string") return render;
  const renderTools = createRender(withTools, specials, directory);
  return (conversation, opens) => (conversation.tools ? renderTools : render)(conversation, opens);
}

function endIds({ eos_token_id: ends }: Config): number[] {
  const all: unknown[] = Array.isArray(ends) ? ends : [ends];
  return all.filter((id) => typeof id === "number");
}
