import { isRecord } from "../../../protocol/isRecord.ts";
import type { Model } from "./model.ts";
import type { Normalize } from "./normalizer.ts";
import { type Config, type Piece, type Token, UnknownPart, flagOf, textOf } from "./parts.ts";
import { createTrie } from "./trie.ts";

/** A token that is found in a text before the text is cut. */
export interface AddedToken {
  id: number;
  content: string;
  single_word: boolean;
  lstrip: boolean;
  rstrip: boolean;
  normalized: boolean;
  special: boolean;
}

/** The tokens that a text is cut at, by their ids. */
export interface AddedTokens {
  byId: ReadonlyMap<number, AddedToken>;
  idOf: (content: string) => number | undefined;
  /** How a token is written where texts are normalized. */
  writtenOf: (token: AddedToken) => string;
  /** The added tokens of a text, and the pieces between, normalized. */
  cut: (text: string) => (Piece | Token)[];
}

/** @param file `tokenizer.json` */
export function createAddedTokens(
  file: Config,
  model: Model,
  normalize: Normalize = (text) => text,
): AddedTokens {
  const byId = addedTokens(file, model);
  const ids = new Map([...byId.values()].map(({ content, id }) => [content, id]));
  const writtenOf = ({ content, normalized }: AddedToken) =>
    normalized ? normalize(content) : content;
  const tokens = [...byId.values()];
  const findPlain = finder(
    tokens.filter(({ normalized }) => !normalized),
    writtenOf,
  );
  const findNormalized = finder(
    tokens.filter(({ normalized }) => normalized),
    writtenOf,
  );
  return {
    byId,
    idOf: (content) => ids.get(content),
    writtenOf,
    cut: (text) =>
      findPlain({ text, isFirst: true }).flatMap((part) => {
        if ("id" in part) return [part];
        const piece = { ...part, text: normalize(part.text) };
        return piece.text === "" ? [] : findNormalized(piece);
      }),
  };
}

/**
 * The added tokens by the ids that Hugging Face's tokenizers give them, which are not always the file's:
 * the vocabulary's for a text that it has, else the next one.
 */
export function addedTokens(file: Config, model: Pick<Model, "idOf" | "size">) {
  const listed: unknown = file["added_tokens"] ?? [];
  if (!Array.isArray(listed) || !listed.every(isRecord)) {
    throw new Error("its added_tokens are not a list of objects");
  }
  const byId = new Map<number, AddedToken>();
  const ids = new Map<string, number>();
  let next = model.size;
  for (const one of listed) {
    const content = textOf(one, "content");
    if (content === "") continue;
    const id = ids.get(content) ?? model.idOf(content) ?? next++;
    ids.set(content, id);
    byId.set(id, {
      ...{ id, content },
      single_word: flagOf(one, "single_word", false),
      lstrip: flagOf(one, "lstrip", false),
      rstrip: flagOf(one, "rstrip", false),
      // Once it is special, it is left out of answers.
      special: flagOf(one, "special", false) || byId.get(id)?.special === true,
      normalized: flagOf(one, "normalized", one["special"] !== true),
    });
  }
  return byId;
}

const WORD = "[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}]";
const BEGINS_WITH_WORD = new RegExp(`^${WORD}`, "u");
const ENDS_WITH_WORD = new RegExp(`${WORD}$`, "u");
const SPACE = /^\p{White_Space}$/u;

/** Cuts a piece at tokens: the longest of those that begin first. */
function finder(tokens: readonly AddedToken[], writtenOf: (token: AddedToken) => string) {
  const byText = new Map(tokens.map((token) => [writtenOf(token), token]));
  if (byText.has("") || byText.size < tokens.length) {
    throw new UnknownPart("an added token that its normalizer makes empty, or like another");
  }
  const endsAt = createTrie(byText.keys());

  return function cut({ text, isFirst }: Piece): (Piece | Token)[] {
    const parts: (Piece | Token)[] = [];
    let end = 0;
    const addPiece = (to: number) => {
      if (end < to) parts.push({ text: text.slice(end, to), isFirst: isFirst && end === 0 });
    };
    for (let place = 0; place < text.length;) {
      let to = endsAt(text, place).at(-1);
      let from = place++;
      if (to === undefined) continue;
      place = to;
      const token = byText.get(text.slice(from, to))!;
      if (token.single_word && !standsAlone(text, from, to)) continue;
      if (token.lstrip) {
        while (from > end && SPACE.test(text[from - 1]!)) from--;
        from = Math.max(from, end);
      }
      if (token.rstrip) while (to < text.length && SPACE.test(text[to]!)) to++;
      addPiece(from);
      // Another token may have taken all of it along.
      if (from < to) parts.push(tokenOf(token.id, text.slice(Math.max(end, from), to)));
      end = to;
    }
    addPiece(text.length);
    return parts;
  };
}

function tokenOf(id: number, token: string): Token {
  return { id, token, bytes: Buffer.byteLength(token) };
}

function standsAlone(text: string, from: number, to: number): boolean {
  return (
    !ENDS_WITH_WORD.test(text.slice(Math.max(0, from - 2), from)) &&
    !BEGINS_WITH_WORD.test(text.slice(to, to + 2))
  );
}
