import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A small tokenizer, and what `reference/tokens.py` found with it; digests of blocks of 100. */
export interface Style {
  tokenizer: object;
  config: { chat_template?: string };
  /** Tokens, a count. */
  size: number;
  /** The ids of 10,000 texts, and their text again. */
  texts: string[];
  decoded: string[];
  /** The ids of 1,000 conversations, and which are learned. */
  conversations: string[];
}

const found = JSON.parse(
  readFileSync(new URL("./reference/tokens.json", import.meta.url), "utf8"),
) as { fragments: string[]; families: Record<string, Style> };

export const FRAGMENTS = found.fragments;
export const STYLES = found.families;

/** @param config changes of `tokenizer_config.json` */
export function writeTokenizer(path: string, { tokenizer, config }: Style, changes = {}): void {
  writeFileSync(join(path, "tokenizer.json"), JSON.stringify(tokenizer));
  writeFileSync(join(path, "tokenizer_config.json"), JSON.stringify({ ...config, ...changes }));
}

interface Pieces {
  vocab: Record<string, number>;
  merges: string[][];
}

/** As a converter of SentencePiece's models writes it: tokens by their scores, and of each all pairs that make it. */
export function withAllMerges(style: Style): Style {
  const tokenizer = structuredClone(style.tokenizer) as { model: Pieces };
  const { vocab, merges } = tokenizer.model;
  const made = new Set(merges.map((pair) => pair.join("")));
  tokenizer.model.merges = [...made].flatMap((text) =>
    Array.from({ length: text.length - 1 }, (_, i) => [
      text.slice(0, i + 1),
      text.slice(i + 1),
    ]).filter((pair) => pair.every((part) => part in vocab)),
  );
  return { ...style, tokenizer };
}
