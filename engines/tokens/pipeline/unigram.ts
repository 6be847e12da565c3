import { byteToken } from "../byteTokens.ts";
import type { Config, Token } from "./config.ts";
import { type ByteLength, type Model, sumOf } from "./model.ts";
import { createTrie } from "./trie.ts";

/** Subtracted from the lowest score of a token for an unknown character's score. */
const UNKNOWN_PENALTY = 10;

/** The last token of the best segmentation that ends at a position. */
interface Step {
  from: number;
  id: number;
  score: number;
}

/** SentencePiece's unigram model: the segmentation with the best total score. */
export function createUnigram(model: Config, byteLength: ByteLength): Model {
  const entries = entriesOf(model);
  const ids = new Map(entries.map(([text], id) => [text, id]));
  const unknown = model["unk_id"] ?? undefined;
  if (unknown !== undefined && !(typeof unknown === "number" && unknown in entries)) {
    throw new Error('the model\'s "unk_id" is not in its vocabulary');
  }
  const byteFallback = model["byte_fallback"] === true;
  const lowest = entries.reduce((min, [, score]) => Math.min(min, score), Infinity);
  const endsAt = createTrie(ids.keys());

  /** The best step to each position (Viterbi). */
  function stepsOf(text: string): (Step | undefined)[] {
    const steps: (Step | undefined)[] = [];
    const offer = (from: number, to: number, id: number, tokenScore: number) => {
      const score = tokenScore + (steps[from]?.score ?? 0);
      const best = steps[to];
      if (!best || score > best.score) steps[to] = { from, id, score };
    };
    for (let from = 0; from < text.length; from += lengthAt(text, from)) {
      const single = from + lengthAt(text, from);
      const ends = endsAt(text, from);
      for (const to of ends) {
        const id = ids.get(text.slice(from, to))!;
        offer(from, to, id, entries[id]?.[1] ?? 0);
      }
      if (!ends.includes(single)) offer(from, single, unknownId(), lowest - UNKNOWN_PENALTY);
    }
    return steps;
  }

  function unknownId(): number {
    if (typeof unknown === "number") return unknown;
    throw new Error(
      "a text has a character that is not in the vocabulary, and the model has no unk_id",
    );
  }

  /** The tokens' texts; adjacent unknown ones are merged. */
  function tokenTextsOf(text: string): string[] {
    const steps = stepsOf(text);
    const parts: string[] = [];
    let end = text.length;
    let unknownEnd: number | undefined;
    while (end > 0) {
      const { from, id } = steps[end]!;
      if (id === unknown) unknownEnd ??= end;
      else {
        if (unknownEnd !== undefined) parts.push(text.slice(end, unknownEnd));
        unknownEnd = undefined;
        parts.push(text.slice(from, end));
      }
      end = from;
    }
    if (unknownEnd !== undefined) parts.push(text.slice(0, unknownEnd));
    return parts.reverse();
  }

  function tokensOf(part: string): Token[] {
    const id = ids.get(part);
    if (id !== undefined) return [{ id, token: part, bytes: sumOf(part, byteLength) }];
    const byteTokens = Array.from(Buffer.from(part), byteToken);
    if (byteFallback && byteTokens.every((token) => ids.has(token))) {
      return byteTokens.map((token) => ({ id: ids.get(token)!, token, bytes: 1 }));
    }
    return [{ id: unknownId(), token: part, bytes: sumOf(part, byteLength) }];
  }

  return {
    tokens: (text) => tokenTextsOf(text).flatMap(tokensOf),
    idOf: (token) => ids.get(token),
    tokenOf: (id) => entries[id]?.[0],
    size: entries.length,
  };
}

function entriesOf({ vocab }: Config): [string, number][] {
  const entries: unknown[] = Array.isArray(vocab) ? vocab : [];
  if (entries.length > 0 && entries.every(isEntry)) return entries;
  throw new Error('the "vocab" of its model is not a list of texts and scores');
}

function isEntry(entry: unknown): entry is [string, number] {
  return Array.isArray(entry) && typeof entry[0] === "string" && typeof entry[1] === "number";
}

/** Length of the character at a position, in UTF-16 units. */
function lengthAt(text: string, position: number): number {
  return (text.codePointAt(position) ?? 0) > 0xffff ? 2 : 1;
}
