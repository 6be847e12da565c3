import { KitError, isKitError } from "../../protocol/error.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { type Config } from "../modelFiles/configFile.ts";
import {
  CONFIG_FILE,
  GENERATION_CONFIG,
  TEMPLATE_FILE,
  TOKENIZER_CONFIG,
  TOKENIZER_FILE,
  TOOLS_TEMPLATE_FILE,
} from "../modelFiles/names.ts";
import { BYTE_TOKENIZER } from "../tokens/byteTokenizer.ts";
import { VOCABULARY } from "../tokens/byteTokens.ts";
import { type Render, createRender } from "../tokens/chatTemplate.ts";
import { createFileTokenizer } from "../tokens/fileTokenizer.ts";
import { withSidecarTokens } from "../tokens/sidecarTokens.ts";
import { findStopTokens } from "../tokens/stopTokens.ts";
import { templateDateIn } from "../tokens/templateDate.ts";
import type { PromptStyle, Tokenizer } from "../tokens/tokenizer.ts";
import { type TextFiles, directoryTexts } from "./textFiles.ts";

const SPECIALS_MAP = "special_tokens_map.json";

/** A model's tokens, and how it reads a bare prompt unless a training said otherwise. */
export interface SavedTokenizer {
  tokenizer: Tokenizer;
  promptStyle: PromptStyle;
  /** Whether it is Kit's own, of bytes. */
  isOwn: boolean;
}

/**
 * Opens a model's tokenizer: Kit's own, or the one that `tokenizer.json` describes.
 * @param model its directory, or its files
 * @param vocabulary of the model, a count of numbers that it scores
 * @throws KitError `CHECKPOINT_INVALID` when a file is missing or damaged
 */
export function openTokenizer(model: string | TextFiles, vocabulary: number): SavedTokenizer {
  const files = typeof model === "string" ? directoryTexts(model) : model;
  const tokenizer = files.json(TOKENIZER_FILE);
  if (vocabulary === VOCABULARY && (!tokenizer || isByteLevel(tokenizer))) {
    return { tokenizer: BYTE_TOKENIZER, isOwn: true, promptStyle: "message" };
  }
  const path = files.label(TOKENIZER_FILE);
  if (!tokenizer) {
    throw new KitError(
      "CHECKPOINT_INVALID",
      `There is no ${path}. Name the directory of a model or a checkpoint.`,
    );
  }
  const completed = withCompanions(files, tokenizer);
  const settings = tokenizerSettings(files, completed);
  const { config, specials, ends } = settings;
  const render = savedRender(files, settings);
  const opened = createFileTokenizer({
    ...{ path, tokenizer: completed, config, vocabulary, specials, ends, render },
  });
  return { tokenizer: opened, isOwn: false, promptStyle: render ? "message" : "text" };
}

/** `tokenizer.json` with the added tokens that only the files beside it have. */
export function completeTokenizer(files: TextFiles): Config {
  return withCompanions(files, files.json(TOKENIZER_FILE) ?? {});
}

function withCompanions(files: TextFiles, tokenizer: Config): Config {
  return withSidecarTokens(tokenizer, {
    config: files.json(TOKENIZER_CONFIG) ?? {},
    specials: files.json(SPECIALS_MAP),
    added: files.json("added_tokens.json"),
  });
}

/**
 * What a model's files say of its tokenizer besides `tokenizer.json`.
 * @param tokenizer the completed `tokenizer.json`
 */
export function tokenizerSettings(files: TextFiles, tokenizer = completeTokenizer(files)) {
  const config = files.json(TOKENIZER_CONFIG) ?? {};
  // As in `transformers`, a config that lists the added tokens says all.
  const isWhole = isRecord(config["added_tokens_decoder"]);
  const specials = specialTexts({ ...config, ...(!isWhole && files.json(SPECIALS_MAP)) });
  return {
    config,
    /** The texts of the special tokens, by their names. */
    specials,
    ends: findStopTokens({
      tokenizer,
      eos: specials["eos_token"],
      config: files.json(CONFIG_FILE) ?? {},
      generation: files.json(GENERATION_CONFIG),
      render: readableRender(files, specials),
    }),
  };
}

/** Undefined also for a template that is not Jinja; opening it for rows or prompts reports that. */
function readableRender(files: TextFiles, specials: Record<string, string>): Render | undefined {
  try {
    return renderOf(files, specials);
  } catch (error) {
    if (isKitError(error)) return undefined;
    throw error;
  }
}

/** When a saved model's training began, whose date its chat template writes; undefined for none. */
export function templateDateOf(files: TextFiles): Date | undefined {
  return templateDateIn(files.json(TOKENIZER_CONFIG) ?? {});
}

/** A model's chat template, which writes the date that the model has learned, or today's. */
export function savedRender(
  files: TextFiles,
  { config, specials }: Pick<ReturnType<typeof tokenizerSettings>, "config" | "specials">,
): Render | undefined {
  const render = renderOf(files, specials);
  const date = templateDateIn(config);
  return date ? (render?.at?.(date) ?? render) : render;
}

/** The prompt style that a saved model names: Kit's own entry in `tokenizer_config.json`. */
export function promptStyleOf(files: TextFiles): PromptStyle | undefined {
  const style = files.json(TOKENIZER_CONFIG)?.["prompt_style"];
  return style === "text" || style === "message" ? style : undefined;
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

/**
 * A model's chat templates: a file of their own, or in the config a text, or several with names. As in
 * `transformers`, the config's count where there is no file.
 */
export function chatTemplates(files: TextFiles): { usual?: string; withTools?: string } {
  const [file, toolsFile] = [files.text(TEMPLATE_FILE), files.text(TOOLS_TEMPLATE_FILE)];
  const template = files.json(TOKENIZER_CONFIG)?.["chat_template"];
  const named = (Array.isArray(template) ? template : []).filter(isRecord);
  const ofName = (name: string) => named.find((one) => one["name"] === name)?.["template"];
  const usual = file ?? ofName("default") ?? template;
  const withTools = toolsFile ?? (file === undefined ? ofName("tool_use") : undefined);
  return {
    ...(typeof usual === "string" && { usual }),
    ...(typeof withTools === "string" && { withTools }),
  };
}

/** The template of each conversation. */
function oneOf(usual: Render, withTools: Render): Render {
  const write = (...asked: Parameters<Render>) => (asked[0].tools ? withTools : usual)(...asked);
  const reads = (variable: string) => usual.reads(variable) || withTools.reads(variable);
  const render: Render = Object.assign(write, { reads });
  if (!usual.at && !withTools.at) return render;
  const at = (date: Date) => oneOf(usual.at?.(date) ?? usual, withTools.at?.(date) ?? withTools);
  return Object.assign(render, { at });
}

function renderOf(files: TextFiles, specials: Record<string, string>): Render | undefined {
  const { usual, withTools } = chatTemplates(files);
  if (usual === undefined) return undefined;
  const render = createRender(usual, specials, files.label());
  if (withTools === undefined) return render;
  const renderTools = createRender(withTools, specials, files.label());
  return oneOf(render, renderTools);
}
