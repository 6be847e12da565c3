import { statSync } from "node:fs";
import { KitError } from "../../protocol/error.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { configShape } from "../families/config.ts";
import { weightCounts } from "../families/tensorShapes.ts";
import { architectureOf } from "../gguf/architecture.ts";
import { ggufWeights } from "../gguf/ggufWeights.ts";
import { FILE_KEYS, KEYS } from "../gguf/metadata.ts";
import { type ParsedHeader, parseHeader } from "../gguf/parsedHeader.ts";
import { ggufName } from "../gguf/tensorNames.ts";
import { assertLittleEndian } from "../modelFiles/byteOrder.ts";
import { CONFIG_FILE, TOKENIZER_CONFIG, TOKENIZER_FILE } from "../modelFiles/names.ts";
import { useFile } from "../modelFiles/regularFile.ts";
import { biasesOf } from "./savedModel.ts";
import { openTokenizer, promptStyleOf } from "./savedTokenizer.ts";
import { type TextFiles, inMemoryTexts, parsed } from "./textFiles.ts";

/** Whether a path is a file, not a model's directory. */
export function isModelFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

/**
 * Opens a GGUF file that Kit wrote.
 * @throws KitError `CHECKPOINT_INVALID` for a damaged or hostile file, or one that another program wrote
 */
export function openGguf(path: string) {
  const header = readHeader(path);
  const texts = textsOf(path, header);
  const fromConfig = configShape(texts.label(CONFIG_FILE), texts.json(CONFIG_FILE) ?? {});
  const hasTensor = (name: string) => header.tensors.has(ggufName(name));
  const shape = { ...fromConfig, biases: biasesOf(fromConfig, hasTensor, path) };
  const architecture = architectureOf(shape, path);
  const isSameArchitecture = header.values.get(KEYS.architecture) === architecture.name;
  if (
    !isSameArchitecture ||
    weightCounts({ ...fromConfig, biases: [] }).tensors > header.tensors.size
  ) {
    throw new KitError(
      "CHECKPOINT_INVALID",
      `${path} does not contain the model that its ${CONFIG_FILE} describes. Export or download it again.`,
    );
  }
  const weights = ggufWeights(path, header.tensors, architecture, shape);
  const base = {
    weights,
    files: [path],
    openTokenizer: () => openTokenizer(texts, shape.vocabulary),
  };
  return { shape, weights, base, promptStyle: promptStyleOf(texts) };
}

function readHeader(path: string): ParsedHeader {
  assertLittleEndian();
  return useFile(path, (file) => parseHeader(path, file));
}

/** The model's files, as Kit stored them in the metadata. */
function textsOf(path: string, { values }: ParsedHeader): TextFiles {
  const textOf = (key: string) => {
    const value = values.get(key);
    return typeof value === "string" ? value : undefined;
  };
  if (textOf(KEYS.kind) === "adapter") {
    throw new KitError(
      "CHECKPOINT_INVALID",
      `${path} is an adapter without its base. Name the adapter's own folder, or export it with its base.`,
    );
  }
  const texts = Object.entries(FILE_KEYS).map(([name, key]) => [name, textOf(key)] as const);
  const files = Object.fromEntries(texts);
  if (files[TOKENIZER_FILE] === undefined || files[CONFIG_FILE] === undefined) {
    throw new KitError(
      "CHECKPOINT_INVALID",
      `${path} was not written by Kit, and lacks the model's own tokenizer. Use the folder it was converted from, with config.json and safetensors${originOf(textOf)}.`,
    );
  }
  return inMemoryTexts(path, {
    ...files,
    [TOKENIZER_CONFIG]: withTemplates(files[TOKENIZER_CONFIG], textOf),
  });
}

function originOf(textOf: (key: string) => string | undefined): string {
  const origin = textOf(KEYS.source) ?? textOf(KEYS.sourceUrl);
  return origin === undefined || !/^[\w./:-]+$/.test(origin) ? "" : `: ${origin}`;
}

/** Adds the chat templates, which GGUF stores under llama.cpp's keys. */
function withTemplates(config = "{}", textOf: (key: string) => string | undefined): string {
  const settings: unknown = parsed(config);
  const [defaultTemplate, withTools] = [textOf(KEYS.chatTemplate), textOf(KEYS.toolTemplate)];
  if (!isRecord(settings) || defaultTemplate === undefined) return config;
  const named = [
    { name: "default", template: defaultTemplate },
    ...(withTools === undefined ? [] : [{ name: "tool_use", template: withTools }]),
  ];
  return JSON.stringify({ ...settings, chat_template: named });
}
