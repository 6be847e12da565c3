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

/** A model's tokenizer and default prompt style. */
export interface SavedTokenizer {
  tokenizer: Tokenizer;
  promptStyle: PromptStyle;
  /** Whether it is Kit's own byte tokenizer. */
  isByteTokenizer: boolean;
}

/**
 * Opens a model's tokenizer: Kit's own, or the one in `tokenizer.json`.
 * @param model its directory, or its files
 * @param vocabulary number of logits
 * @throws KitError `CHECKPOINT_INVALID` when a file is missing or damaged
 */
export function openTokenizer(model: string | TextFiles, vocabulary: number): SavedTokenizer {
  const files = typeof model === "string" ? directoryTexts(model) : model;
  const tokenizer = files.json(TOKENIZER_FILE);
  if (vocabulary === VOCABULARY && (!tokenizer || isByteLevel(tokenizer))) {
    return { tokenizer: BYTE_TOKENIZER, isByteTokenizer: true, promptStyle: "message" };
  }
  const path = files.label(TOKENIZER_FILE);
  if (!tokenizer) {
    throw new KitError(
      "CHECKPOINT_INVALID",
      `There is no ${path}. Pass the directory of a model or a checkpoint.`,
    );
  }
  const completed = withSidecarFiles(files, tokenizer);
  const settings = tokenizerSettings(files, completed);
  const { config, specials, stopTokens } = settings;
  const render = savedRender(files, settings);
  const opened = createFileTokenizer({
    path,
    tokenizer: completed,
    config,
    vocabulary,
    specials,
    stopTokens,
    render,
  });
  return { tokenizer: opened, isByteTokenizer: false, promptStyle: render ? "message" : "text" };
}

/** `tokenizer.json` with the added tokens that only its sidecar files have. */
export function completeTokenizer(files: TextFiles): Config {
  return withSidecarFiles(files, files.json(TOKENIZER_FILE) ?? {});
}

function withSidecarFiles(files: TextFiles, tokenizer: Config): Config {
  return withSidecarTokens(tokenizer, {
    config: files.json(TOKENIZER_CONFIG) ?? {},
    specials: files.json(SPECIALS_MAP),
    added: files.json("added_tokens.json"),
  });
}

/**
 * A tokenizer's settings outside `tokenizer.json`.
 * @param tokenizer the completed `tokenizer.json`
 */
export function tokenizerSettings(files: TextFiles, tokenizer = completeTokenizer(files)) {
  const config = files.json(TOKENIZER_CONFIG) ?? {};
  // As in `transformers`, a config that lists the added tokens is complete.
  const isComplete = isRecord(config["added_tokens_decoder"]);
  const specials = specialTexts({ ...config, ...(!isComplete && files.json(SPECIALS_MAP)) });
  return {
    config,
    /** Texts of the special tokens, by name. */
    specials,
    stopTokens: findStopTokens({
      tokenizer,
      eos: specials["eos_token"],
      config: files.json(CONFIG_FILE) ?? {},
      generation: files.json(GENERATION_CONFIG),
      render: readableRender(files, specials),
    }),
  };
}

/** The chat template; undefined also if it is invalid, which is reported only when rows or prompts need it. */
function readableRender(files: TextFiles, specials: Record<string, string>): Render | undefined {
  try {
    return renderOf(files, specials);
  } catch (error) {
    if (isKitError(error)) return undefined;
    throw error;
  }
}

/** When a saved model's training started, if its chat template writes the date. */
export function templateDateOf(files: TextFiles): Date | undefined {
  return templateDateIn(files.json(TOKENIZER_CONFIG) ?? {});
}

/** A model's chat template, which writes the training's date, if it was saved, or else today's. */
export function savedRender(
  files: TextFiles,
  { config, specials }: Pick<ReturnType<typeof tokenizerSettings>, "config" | "specials">,
): Render | undefined {
  const render = renderOf(files, specials);
  const date = templateDateIn(config);
  return date ? (render?.at?.(date) ?? render) : render;
}

/** A saved model's prompt style, from Kit's own entry in `tokenizer_config.json`. */
export function promptStyleOf(files: TextFiles): PromptStyle | undefined {
  const style = files.json(TOKENIZER_CONFIG)?.["prompt_style"];
  return style === "text" || style === "message" ? style : undefined;
}

/** Whether a `tokenizer.json` is the one that Kit writes: bytes without merges. */
function isByteLevel({ model }: Config): boolean {
  if (!isRecord(model) || !isRecord(model["vocab"])) return false;
  const merges = model["merges"];
  return Array.isArray(merges) && merges.length === 0 && Object.keys(model["vocab"]).length === 256;
}

/** The text of each `…_token` in a config. */
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
 * A model's chat templates: from a file, or from the config, as one text or by name. As in `transformers`, a file
 * takes precedence.
 */
export function chatTemplates(files: TextFiles): { defaultTemplate?: string; withTools?: string } {
  const [file, toolsFile] = [files.text(TEMPLATE_FILE), files.text(TOOLS_TEMPLATE_FILE)];
  const template = files.json(TOKENIZER_CONFIG)?.["chat_template"];
  const named = (Array.isArray(template) ? template : []).filter(isRecord);
  const templateNamed = (name: string) =>
    named.find((entry) => entry["name"] === name)?.["template"];
  const defaultTemplate = file ?? templateNamed("default") ?? template;
  const withTools = toolsFile ?? (file === undefined ? templateNamed("tool_use") : undefined);
  return {
    ...(typeof defaultTemplate === "string" && { defaultTemplate }),
    ...(typeof withTools === "string" && { withTools }),
  };
}

/** Picks the template by whether a conversation has tools. */
function combinedRender(defaultTemplate: Render, withTools: Render): Render {
  const write = (...parameters: Parameters<Render>) =>
    (parameters[0].tools ? withTools : defaultTemplate)(...parameters);
  const reads = (variable: string) => defaultTemplate.reads(variable) || withTools.reads(variable);
  const render: Render = Object.assign(write, { reads });
  if (!defaultTemplate.at && !withTools.at) return render;
  const at = (date: Date) =>
    combinedRender(
      defaultTemplate.at?.(date) ?? defaultTemplate,
      withTools.at?.(date) ?? withTools,
    );
  return Object.assign(render, { at });
}

function renderOf(files: TextFiles, specials: Record<string, string>): Render | undefined {
  const { defaultTemplate, withTools } = chatTemplates(files);
  if (defaultTemplate === undefined) return undefined;
  const render = createRender(defaultTemplate, specials, files.label());
  if (withTools === undefined) return render;
  const renderTools = createRender(withTools, specials, files.label());
  return combinedRender(render, renderTools);
}
