import { byteToken } from "../byteTokens.ts";
import { type Config, type Token, Unsupported, flagOf } from "./config.ts";
import { type ByteLength, type Model, sumOf, unknownIdOf, vocabularyOf } from "./model.ts";

/** Maximum number of cached pre-tokens. */
const MAX_CACHED = 10_000;
/** Maximum length of a cached pre-token, in UTF-16 units. */
const MAX_CACHED_LENGTH = 256;
/** More than any id. */
const ID_LIMIT = 2 ** 26;
/** More than any position in a pre-token. */
const POSITION_LIMIT = 2 ** 28;
/** Unsupported features, which only models older than byte-level vocabularies use. */
const AFFIXES = ["continuing_subword_prefix", "end_of_word_suffix"];

/** The symbols of a pre-token while they are merged. */
interface Symbols {
  ids: number[];
  bytes: number[];
}

/** Byte-pair encoding: repeatedly merges the adjacent pair of the lowest rank. */
export function createBpe(model: Config, byteLength: ByteLength): Model {
  // Dropout skips merges at random.
  const unsupported = ["dropout", ...AFFIXES].find((key) => model[key]);
  if (unsupported !== undefined)
    throw new Unsupported(`a model with ${JSON.stringify(unsupported)}`);
  const vocabulary = vocabularyOf(model);
  const { idOf, tokenOf } = vocabulary;
  const { ranks, mergedIds } = mergesOf(model, idOf);
  const ignoresMerges = flagOf(model, "ignore_merges", false);
  const byteFallback = flagOf(model, "byte_fallback", false);
  const fusesUnknown = flagOf(model, "fuse_unk", false);
  const unknownToken = model["unk_token"];
  const unknown = typeof unknownToken === "string" ? unknownIdOf(unknownToken, idOf) : undefined;
  const cache = new Map<string, Token[]>();

  function symbolsOf(text: string): Symbols {
    const symbols: Symbols = { ids: [], bytes: [] };
    const add = (id: number, bytes: number) => {
      symbols.ids.push(id);
      symbols.bytes.push(bytes);
    };
    let pendingUnknown = 0;
    const flushUnknown = () => {
      if (pendingUnknown > 0 && unknown !== undefined) add(unknown, pendingUnknown);
      pendingUnknown = 0;
    };
    for (const character of text) {
      const id = idOf(character);
      const bytes = id === undefined && byteFallback ? byteIds(character) : undefined;
      if (id !== undefined) {
        flushUnknown();
        add(id, byteLength(character));
      } else if (bytes) {
        // Pending unknown characters are added later, as in Hugging Face's tokenizers.
        for (const byte of bytes) add(byte, 1);
      } else if (unknown !== undefined) {
        if (!fusesUnknown) flushUnknown();
        pendingUnknown += byteLength(character);
      }
    }
    flushUnknown();
    return symbols;
  }

  function byteIds(character: string): number[] | undefined {
    const ids = Array.from(Buffer.from(character), (byte) => idOf(byteToken(byte)));
    return ids.every((id) => id !== undefined) ? ids : undefined;
  }

  function merge({ ids, bytes }: Symbols): Token[] {
    const next = ids.map((_, i) => i + 1);
    const previous = ids.map((_, i) => i - 1);
    const isMerged = ids.map(() => false);
    const queue = createQueue();
    const rankAt = (position: number): number | undefined => {
      const right = next[position] ?? ids.length;
      return right < ids.length ? ranks.get(ids[position]! * ID_LIMIT + ids[right]!) : undefined;
    };
    const offer = (position: number) => {
      const rank = position < 0 ? undefined : rankAt(position);
      if (rank !== undefined) queue.add(rank * POSITION_LIMIT + position);
    };
    for (const i of ids.keys()) offer(i);
    for (let lowest = queue.take(); lowest !== undefined; lowest = queue.take()) {
      const position = lowest % POSITION_LIMIT;
      const id = mergedIds[Math.floor(lowest / POSITION_LIMIT)];
      const rank = isMerged[position] ? undefined : rankAt(position);
      if (rank === undefined || mergedIds[rank] !== id) continue;
      const right = next[position]!;
      ids[position] = id!;
      bytes[position]! += bytes[right]!;
      isMerged[right] = true;
      const after = next[right]!;
      next[position] = after;
      if (after < ids.length) previous[after] = position;
      offer(previous[position]!);
      offer(position);
    }
    return ids.flatMap((id, i) =>
      isMerged[i] ? [] : [{ id, token: tokenOf(id) ?? "", bytes: bytes[i]! }],
    );
  }

  function tokens(text: string): Token[] {
    const whole = ignoresMerges ? idOf(text) : undefined;
    if (whole !== undefined) {
      return [{ id: whole, token: text, bytes: sumOf(text, byteLength) }];
    }
    const cached = cache.get(text);
    if (cached) return cached;
    const found = merge(symbolsOf(text));
    if (cache.size < MAX_CACHED && text.length < MAX_CACHED_LENGTH) cache.set(text, found);
    return found;
  }

  return { ...vocabulary, tokens };
}

/** The rank of each pair of ids, and the id that each rank merges to. */
function mergesOf({ merges }: Config, idOf: Model["idOf"]) {
  if (!Array.isArray(merges)) throw new Error("its model has no list of merges");
  const pairs = merges[0] === undefined || Array.isArray(merges[0]) ? merges : splitPairs(merges);
  const mergedIds: number[] = [];
  const ranks = new Map<number, number>();
  for (const [rank, pair] of (pairs as unknown[]).entries()) {
    const [left, right] = Array.isArray(pair) ? (pair as unknown[]) : [];
    if (typeof left !== "string" || typeof right !== "string") {
      throw new Error(`its merge ${JSON.stringify(pair)} is not two texts`);
    }
    const mergedId = idOf(left + right);
    const [first, second] = [idOf(left), idOf(right)];
    if (first === undefined || second === undefined || mergedId === undefined) {
      throw new Error(`its merge ${JSON.stringify(pair)} is not in the vocabulary`);
    }
    ranks.set(first * ID_LIMIT + second, rank);
    mergedIds.push(mergedId);
  }
  return { ranks, mergedIds };
}

/** Splits pairs that are written as one text, in older files. */
function splitPairs(merges: unknown[]): unknown[] {
  const lines = merges.filter((line) => !String(line).startsWith("#version"));
  return lines.map((line) => (typeof line === "string" ? line.split(" ") : line));
}

/** A min-heap of numbers. */
function createQueue() {
  const heap: number[] = [];

  function add(value: number): void {
    let position = heap.length;
    while (position > 0) {
      const parent = (position - 1) >> 1;
      if (heap[parent]! <= value) break;
      heap[position] = heap[parent]!;
      position = parent;
    }
    heap[position] = value;
  }

  function take(): number | undefined {
    const lowest = heap[0];
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return lowest;
    let position = 0;
    for (;;) {
      let child = 2 * position + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && heap[child + 1]! < heap[child]!) child++;
      if (heap[child]! >= last) break;
      heap[position] = heap[child]!;
      position = child;
    }
    heap[position] = last;
    return lowest;
  }

  return { add, take };
}
