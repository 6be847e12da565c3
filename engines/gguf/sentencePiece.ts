import { isRecord } from "../../protocol/isRecord.ts";
import { type Config } from "../modelFiles/configFile.ts";
import { type Metadata, bool, float32s, string } from "./metadata.ts";

const SPACE = "▁";
/** A token for a single byte. */
export const BYTE_TOKEN = /^<0x[\dA-F]{2}>$/;
const BYTES = 256;

/** Whether a `tokenizer.json` describes a BPE tokenizer of SentencePiece. */
export function isSentencePiece({
  normalizer,
  pre_tokenizer: pre,
  model,
  decoder,
}: Config): boolean {
  if (!isRecord(model) || model["type"] !== "BPE" || model["byte_fallback"] !== true) return false;
  if (model["ignore_merges"] === true || typeof model["unk_token"] !== "string") return false;
  if (!isReplace(normalizer, " ", SPACE)) return false;
  // The normalizer leaves no space in a text, so a split at spaces changes nothing.
  if (pre !== null && !(isRecord(pre) && pre["type"] === "Split" && textOf(pre) === " "))
    return false;
  const steps = isRecord(decoder) && Array.isArray(decoder["decoders"]) ? decoder["decoders"] : [];
  const [first, ...others] = steps.filter(isRecord);
  const names = others.map(({ type }) => type).join();
  return isReplace(first, SPACE, " ") && names === "ByteFallback,Fuse";
}

function isReplace(step: unknown, from: string, to: string): boolean {
  return (
    isRecord(step) && step["type"] === "Replace" && textOf(step) === from && step["content"] === to
  );
}

function textOf({ pattern }: Config): unknown {
  return isRecord(pattern) ? pattern["String"] : undefined;
}

/**
 * llama.cpp's metadata for a SentencePiece tokenizer. llama.cpp merges the neighbours that form the token with the
 * highest score, Hugging Face the pair with the lowest rank.
 * @param tokens every id's text
 * @returns undefined if the two would tokenize differently
 */
export function sentencePieceMetadata(
  tokenizer: Config,
  tokens: readonly string[],
): Metadata | undefined {
  const { model, added_tokens: added } = tokenizer;
  const merges = isRecord(model) ? model["merges"] : undefined;
  const texts = new Set(tokens);
  if (!Array.isArray(merges) || !hasBytes(texts)) return undefined;
  const splits = splitsOf(merges);
  const addedTexts = new Set(
    (Array.isArray(added) ? added : []).map((token: Config) => token["content"]),
  );
  // Added tokens are matched before merging, except those with spaces.
  const merged = tokens.filter((text) => text.includes(SPACE) || !addedTexts.has(text));
  if (!merged.every((text) => isMergedAlike(text, splits.get(text) ?? [], texts))) return undefined;
  return {
    "tokenizer.ggml.model": string("llama"),
    "tokenizer.ggml.pre": string("default"),
    "tokenizer.ggml.scores": float32s(tokens.map((text) => -(splits.get(text)?.[0]?.rank ?? 0))),
    "tokenizer.ggml.add_space_prefix": bool(false),
  };
}

/** Whether every byte has a token, as a byte or as a character. */
function hasBytes(texts: ReadonlySet<string>): boolean {
  return Array.from({ length: BYTES }, (_, byte) => byte).every((byte) => {
    const hex = byte.toString(16).toUpperCase().padStart(2, "0");
    return texts.has(`<0x${hex}>`) || (byte < 128 && texts.has(String.fromCharCode(byte)));
  });
}

/** A merge that forms a token. */
interface Split {
  /** Length of the left token, in UTF-16 units. */
  at: number;
  rank: number;
}

/** Merges by the token that they form, in rank order. */
function splitsOf(merges: readonly unknown[]): Map<string, Split[]> {
  const splits = new Map<string, Split[]>();
  for (const [rank, merge] of merges.entries()) {
    const [left = "", right = ""] = Array.isArray(merge)
      ? merge.map(String)
      : String(merge).split(" ");
    const split = { at: left.length, rank };
    const others = splits.get(left + right);
    if (others) others.push(split);
    else splits.set(left + right, [split]);
  }
  return splits;
}

/** Whether both merge a token alike: every possible split of it is a merge, and their ranks are consecutive. */
function isMergedAlike(
  text: string,
  splits: readonly Split[],
  texts: ReadonlySet<string>,
): boolean {
  const isCharacter = (part: string) => part.length <= 2 && [...part].length === 1;
  const isToken = (part: string) => texts.has(part) || isCharacter(part);
  const characters = [...text];
  let at = 0;
  for (const character of characters.slice(0, -1)) {
    at += character.length;
    const isPossible = isToken(text.slice(0, at)) && isToken(text.slice(at));
    if (isPossible && !splits.some((split) => split.at === at)) return false;
  }
  // A run of one character merges from its start, whatever the ranks.
  if (new Set(characters).size === 1) return true;
  return splits.every(({ rank }, i) => rank === splits[0]!.rank + i);
}
