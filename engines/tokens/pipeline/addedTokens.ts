import { isRecord } from "../../../protocol/isRecord.ts";
import { type Config, type PreToken, type Token, Unsupported, flagOf, textOf } from "./config.ts";
import type { Model } from "./model.ts";
import type { Normalize } from "./normalizer.ts";
import { createTrie } from "./trie.ts";

/** A token matched in the text before pre-tokenization. */
export interface AddedToken {
  id: number;
  content: string;
  single_word: boolean;
  lstrip: boolean;
  rstrip: boolean;
  normalized: boolean;
  special: boolean;
}

export interface AddedTokens {
  byId: ReadonlyMap<number, AddedToken>;
  idOf: (content: string) => number | undefined;
  /** A token's text as it appears in normalized text. */
  normalizedText: (token: AddedToken) => string;
  /** Splits a text into added tokens and the normalized text between them. */
  split: (text: string) => (PreToken | Token)[];
}

/** @param file `tokenizer.json` */
export function createAddedTokens(
  file: Config,
  model: Model,
  normalize: Normalize = (text) => text,
): AddedTokens {
  const byId = addedTokens(file, model);
  const ids = new Map([...byId.values()].map(({ content, id }) => [content, id]));
  const normalizedText = ({ content, normalized }: AddedToken) =>
    normalized ? normalize(content) : content;
  const tokens = [...byId.values()];
  const findPlain = finder(
    tokens.filter(({ normalized }) => !normalized),
    normalizedText,
  );
  const findNormalized = finder(
    tokens.filter(({ normalized }) => normalized),
    normalizedText,
  );
  return {
    byId,
    idOf: (content) => ids.get(content),
    normalizedText,
    split: (text) =>
      findPlain({ text, isFirst: true }).flatMap((part) => {
        if ("id" in part) return [part];
        const preToken = { ...part, text: normalize(part.text) };
        return preToken.text === "" ? [] : findNormalized(preToken);
      }),
  };
}

/**
 * The added tokens by the ids that Hugging Face's tokenizers assign, which may differ from the file's:
 * the vocabulary's id for a text that it has, otherwise the next free one.
 */
export function addedTokens(file: Config, model: Pick<Model, "idOf" | "size">) {
  const listed: unknown = file["added_tokens"] ?? [];
  if (!Array.isArray(listed) || !listed.every(isRecord)) {
    throw new Error("its added_tokens are not a list of objects");
  }
  const byId = new Map<number, AddedToken>();
  const ids = new Map<string, number>();
  let next = model.size;
  for (const entry of listed) {
    const content = textOf(entry, "content");
    if (content === "") continue;
    const id = ids.get(content) ?? model.idOf(content) ?? next++;
    ids.set(content, id);
    byId.set(id, {
      id,
      content,
      single_word: flagOf(entry, "single_word", false),
      lstrip: flagOf(entry, "lstrip", false),
      rstrip: flagOf(entry, "rstrip", false),
      // A token listed twice is special if either entry is.
      special: flagOf(entry, "special", false) || byId.get(id)?.special === true,
      normalized: flagOf(entry, "normalized", entry["special"] !== true),
    });
  }
  return byId;
}

const WORD = "[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}]";
const BEGINS_WITH_WORD = new RegExp(`^${WORD}`, "u");
const ENDS_WITH_WORD = new RegExp(`${WORD}$`, "u");
const SPACE = /^\p{White_Space}$/u;

/** Splits text at added tokens: at each position, at the longest that starts there. */
function finder(tokens: readonly AddedToken[], normalizedText: (token: AddedToken) => string) {
  const byText = new Map(tokens.map((token) => [normalizedText(token), token]));
  if (byText.has("") || byText.size < tokens.length) {
    throw new Unsupported("an added token that its normalizer makes empty, or like another");
  }
  const endsAt = createTrie(byText.keys());

  return function split({ text, isFirst }: PreToken): (PreToken | Token)[] {
    const parts: (PreToken | Token)[] = [];
    let end = 0;
    const addPreToken = (to: number) => {
      if (end < to) parts.push({ text: text.slice(end, to), isFirst: isFirst && end === 0 });
    };
    for (let position = 0; position < text.length;) {
      let to = endsAt(text, position).at(-1);
      let from = position++;
      if (to === undefined) continue;
      position = to;
      const token = byText.get(text.slice(from, to))!;
      if (token.single_word && !isSeparateWord(text, from, to)) continue;
      if (token.lstrip) {
        while (from > end && SPACE.test(text[from - 1]!)) from--;
        from = Math.max(from, end);
      }
      if (token.rstrip) while (to < text.length && SPACE.test(text[to]!)) to++;
      addPreToken(from);
      // The previous token may have consumed this one, as white space.
      if (from < to) parts.push(tokenOf(token.id, text.slice(Math.max(end, from), to)));
      end = to;
    }
    addPreToken(text.length);
    return parts;
  };
}

function tokenOf(id: number, token: string): Token {
  return { id, token, bytes: Buffer.byteLength(token) };
}

function isSeparateWord(text: string, from: number, to: number): boolean {
  return (
    !ENDS_WITH_WORD.test(text.slice(Math.max(0, from - 2), from)) &&
    !BEGINS_WITH_WORD.test(text.slice(to, to + 2))
  );
}
