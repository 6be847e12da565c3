import { KitError } from "../../protocol/error.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { type Config } from "../modelFiles/configFile.ts";
import { type TokenizerPipeline, hasSpaceCleanup, createPipeline } from "../tokens/pipeline.ts";
import { tokensAround } from "../tokens/textEncoder.ts";
import { type Metadata, bool, int32s, string, strings, uint32 } from "./metadata.ts";
import { preTokenizerOf } from "./preTokenizer.ts";
import { BYTE_TOKEN, isSentencePiece, sentencePieceMetadata } from "./sentencePiece.ts";

/** A model's tokenizer in its own files. */
interface VocabularyFiles {
  /** Path of `tokenizer.json`, for errors. */
  path: string;
  tokenizer: Config;
  /** `tokenizer_config.json`. */
  config: Config;
  /** Texts of the special tokens, by name. */
  specials: Record<string, string>;
  /** Stop token ids: the `eos_token` first, then what ends a turn. */
  stopTokens: readonly number[];
  /** Number of logits. */
  size: number;
}

/** A tokenizer for llama.cpp. */
export interface Vocabulary {
  metadata: Metadata;
  /** The BOS token's text; empty if the tokenizer adds none. */
  bos: string;
  /** Texts of the stop tokens. */
  stopTexts: string[];
}

/** llama.cpp's token types. */
const KINDS = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 } as const;
/** llama.cpp's keys of stop tokens, one token each. */
const END_KEYS = ["eos", "eot", "eom"] as const;
const OTHER_KEYS = { bos: "bos_token", unknown: "unk_token", padding: "pad_token" } as const;

/**
 * Converts a tokenizer for llama.cpp, which then tokenizes and stops as Kit does.
 * @throws KitError `CHECKPOINT_INVALID` for a tokenizer that llama.cpp doesn't support
 */
export function openVocabulary(files: VocabularyFiles): Vocabulary {
  const { path, tokenizer, specials } = files;
  const { tokens, kinds } = tokensOf(files);
  const model = modelOf(files, tokens);
  // llama.cpp aborts if two tokens have the same text.
  if (new Set(tokens).size < tokens.length)
    throw unsupported(files, "gives two tokens the same text");
  const pipeline = createPipeline(path, tokenizer);
  const stopTokens = files.stopTokens.filter((id) => id < files.size);
  // Without a stop token, llama.cpp assumes token 11.
  if (stopTokens.length === 0 || stopTokens.length > END_KEYS.length)
    throw unsupported(files, "ends answers");
  const { hasBos, hasEos } = addedTokens(files, pipeline, tokens);
  const ids = [
    ...Object.entries(OTHER_KEYS).map(
      ([key, name]) => [key, tokens.indexOf(specials[name] ?? "")] as const,
    ),
    ...stopTokens.map((id, i) => [END_KEYS[i]!, id] as const),
  ].filter(([, id]) => id >= 0);
  return {
    metadata: {
      ...model,
      "tokenizer.ggml.tokens": strings(tokens),
      "tokenizer.ggml.token_type": int32s(kinds),
      ...Object.fromEntries(ids.map(([key, id]) => [`tokenizer.ggml.${key}_token_id`, uint32(id)])),
      // Ollama's own engine reads this key.
      ...(stopTokens.length > 1 && { "tokenizer.ggml.eos_token_ids": int32s(stopTokens) }),
      "tokenizer.ggml.add_bos_token": bool(hasBos),
      "tokenizer.ggml.add_eos_token": bool(hasEos),
    },
    bos: hasBos ? (specials["bos_token"] ?? "") : "",
    stopTexts: stopTokens.map((id) => tokens[id] ?? ""),
  };
}

/** @throws KitError unless llama.cpp can tokenize the same way */
function modelOf(files: VocabularyFiles, tokens: readonly string[]): Metadata {
  const { tokenizer, config } = files;
  if (isSentencePiece(tokenizer)) {
    const found = sentencePieceMetadata(tokenizer, tokens);
    if (!found) throw unsupported(files, "makes tokens");
    return found;
  }
  const merges = mergesOf(files);
  const pre = preTokenizerOf(tokenizer, hasSpaceCleanup(tokenizer, config));
  if (pre === undefined) throw unsupported(files, "splits texts");
  return {
    "tokenizer.ggml.model": string("gpt2"),
    "tokenizer.ggml.pre": string(pre),
    "tokenizer.ggml.merges": strings(merges),
  };
}

/** @throws KitError unless the tokenizer is byte-level BPE */
function mergesOf(files: VocabularyFiles): string[] {
  const { model, normalizer, decoder } = files.tokenizer;
  const isBytes = isRecord(decoder) && decoder["type"] === "ByteLevel";
  if (!isRecord(model) || model["type"] !== "BPE" || !isBytes)
    throw unsupported(files, "makes tokens");
  const { merges, vocab, continuing_subword_prefix: prefix, end_of_word_suffix: suffix } = model;
  if (!Array.isArray(merges) || !isRecord(vocab) || prefix || suffix) {
    throw unsupported(files, "makes tokens");
  }
  // llama.cpp doesn't normalize; nearly all texts are in NFC anyway.
  if (isRecord(normalizer) && normalizer["type"] !== "NFC" && !isEmpty(normalizer)) {
    throw unsupported(files, "normalizes texts");
  }
  return merges.map(mergeText);
}

function isEmpty({ type, normalizers }: Config): boolean {
  return type === "Sequence" && Array.isArray(normalizers) && normalizers.length === 0;
}

/** Joins two tokens by a space, with their own spaces encoded. */
function mergeText(merge: unknown): string {
  if (!Array.isArray(merge)) return String(merge);
  return merge.map((token) => String(token).replaceAll(" ", "Ġ")).join(" ");
}

/** Every id's text and type; missing ids get a placeholder. */
function tokensOf({ tokenizer, size }: VocabularyFiles): { tokens: string[]; kinds: number[] } {
  const { model, added_tokens: added } = tokenizer;
  const tokens = Array.from({ length: size }, (_, id) => `[PAD${id}]`);
  const kinds: number[] = tokens.map(() => KINDS.unused);
  const vocabulary = isRecord(model) && isRecord(model["vocab"]) ? model["vocab"] : {};
  const hasBytes = isRecord(model) && model["byte_fallback"] === true;
  for (const [text, id] of Object.entries(vocabulary))
    put(text, id, hasBytes && BYTE_TOKEN.test(text) ? KINDS.byte : KINDS.normal);
  for (const { id, content, special } of (Array.isArray(added) ? added : []).filter(isRecord)) {
    const isControl = special === true || /^<\|.*\|>$/.test(String(content));
    put(String(content), id, isControl ? KINDS.control : KINDS.userDefined);
  }
  const unknown = hasBytes ? tokens.indexOf(String(model["unk_token"])) : -1;
  if (unknown >= 0) kinds[unknown] = KINDS.unknown;
  return { tokens, kinds };

  /** Ignores ids beyond the logits. */
  function put(text: string, id: unknown, kind: number): void {
    if (typeof id !== "number" || !(id in tokens)) return;
    tokens[id] = text;
    kinds[id] = kind;
  }
}

/** Whether the tokenizer adds BOS and EOS to a text. @throws KitError if it adds other tokens */
function addedTokens(files: VocabularyFiles, pipeline: TokenizerPipeline, tokens: string[]) {
  const around = tokensAround((text, isWhole) =>
    pipeline.encode(text, isWhole).map(({ id }) => id),
  );
  const isOnly = (ids: number[], name: string) =>
    ids.length === 0 || (ids.length === 1 && tokens[ids[0]!] === files.specials[name]);
  if (around && isOnly(around.before, "bos_token") && isOnly(around.after, "eos_token")) {
    return { hasBos: around.before.length > 0, hasEos: around.after.length > 0 };
  }
  throw unsupported(files, "begins or ends texts");
}

function unsupported({ path }: VocabularyFiles, what: string): KitError {
  return new KitError(
    "CHECKPOINT_INVALID",
    `${path} ${what} in a way that llama.cpp does not. Use --format safetensors.`,
  );
}
