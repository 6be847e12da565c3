import { join } from "node:path";
import { GGUF_TYPES } from "../../protocol/exportFormat.ts";
import { openModel } from "../checkpoint/savedModel.ts";
import {
  chatTemplates,
  completeTokenizer,
  savedRender,
  tokenizerSettings,
} from "../checkpoint/savedTokenizer.ts";
import { type TextFiles, inMemoryTexts } from "../checkpoint/textFiles.ts";
import { FILE_TYPES } from "../families/matrixTypes.ts";
import { architectureOf } from "../gguf/architecture.ts";
import { ggufBlocks } from "../gguf/header.ts";
import {
  type Metadata,
  FILE_KEYS,
  KEYS,
  QUANTIZATION_VERSION,
  string,
  uint32,
} from "../gguf/metadata.ts";
import { shapeMetadata } from "../gguf/shapeMetadata.ts";
import { type Vocabulary, openVocabulary } from "../gguf/vocabulary.ts";
import { TOKENIZER_CONFIG, TOKENIZER_FILE } from "../modelFiles/names.ts";
import { templateDateIn } from "../tokens/templateDate.ts";
import type { ExportFormat } from "./format.ts";
import { writeAdapter } from "./ggufAdapter.ts";
import { ggufTensors } from "./ggufTensors.ts";
import { modelfile } from "./modelfile.ts";
import { openSource } from "./source.ts";
import { writeBlocks } from "./writeBlocks.ts";

/** A file for llama.cpp and programs built on it, with a Modelfile for Ollama. */
export const gguf: ExportFormat = {
  mainFile: ({ name }) => `${name}.gguf`,
  async write(checkpoint, to, { pause, onNote, ...options }) {
    const file = gguf.mainFile(options);
    const path = join(to.path, file);
    if (options.adapterOnly) return writeAdapter(checkpoint, path, options, pause);
    const { model, sidecarFiles, files } = openSource(checkpoint);
    const dimensions = openModel(model).shape;
    const architecture = architectureOf(dimensions, model);
    const tensors = ggufTensors(files, architecture, dimensions, options.type);
    const embeddingType = tensors.find(({ name }) => name === EMBEDDING)?.type;
    // Not every tensor's type is one that labels a file.
    const type = options.type ?? GGUF_TYPES.find((type) => type === embeddingType);
    const texts = inMemoryTexts(model, sidecarFiles);
    const vocabulary = vocabularyOf(texts, dimensions.vocabulary);
    const metadata: Metadata = {
      [KEYS.architecture]: string(architecture.name),
      [KEYS.kind]: string("model"),
      "general.name": string(options.name),
      ...shapeMetadata(architecture, dimensions),
      [KEYS.fileType]: uint32(FILE_TYPES[type ?? "f32"]),
      "general.quantization_version": uint32(QUANTIZATION_VERSION),
      ...vocabulary.metadata,
      ...fileMetadata(texts),
    };
    const settings = tokenizerSettings(texts);
    const { text, problem } = modelfile(file, {
      ...vocabulary,
      render: savedRender(texts, settings),
      system: options.system,
      usesCurrentDate: templateDateIn(settings.config) === undefined,
    });
    to.write("Modelfile", text);
    if (problem !== undefined) onNote(problem);
    return writeBlocks(path, ggufBlocks(metadata, tensors), pause);
  },
};

/** If no type is chosen, this tensor's type labels the file. */
const EMBEDDING = "token_embd.weight";

function vocabularyOf(texts: TextFiles, size: number): Vocabulary {
  const tokenizer = completeTokenizer(texts);
  const { config, specials, stopTokens } = tokenizerSettings(texts, tokenizer);
  return openVocabulary({
    path: texts.label(TOKENIZER_FILE),
    tokenizer,
    config,
    specials,
    size,
    stopTokens: stopTokens.all,
  });
}

/** The model's own files, from which Kit can load it, and the chat templates under llama.cpp's keys. */
function fileMetadata(texts: TextFiles): Metadata {
  const { config, specials } = tokenizerSettings(texts);
  const { defaultTemplate, withTools } = chatTemplates(texts);
  const { chat_template: _, ...settings } = { ...config, ...specials };
  const tokenizer = completeTokenizer(texts);
  const isChanged = tokenizer !== texts.json(TOKENIZER_FILE);
  const written: Record<string, string> = {
    [TOKENIZER_CONFIG]: JSON.stringify(settings),
    // Includes the tokens of added_tokens.json and others, because a GGUF file has no sidecar files.
    ...(isChanged && { [TOKENIZER_FILE]: JSON.stringify(tokenizer) }),
  };
  const entries = Object.entries(FILE_KEYS).flatMap(([name, key]) => {
    const text = written[name] ?? texts.text(name);
    return text === undefined ? [] : [[key, string(text)] as const];
  });
  return {
    ...(defaultTemplate !== undefined && { [KEYS.chatTemplate]: string(defaultTemplate) }),
    ...(withTools !== undefined && { [KEYS.toolTemplate]: string(withTools) }),
    ...Object.fromEntries(entries),
  };
}
