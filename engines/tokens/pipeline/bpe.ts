import { byteToken } from "../byteTokens.ts";
import { type Measure, type Model, vocabularyOf } from "./model.ts";
import { type Config, type Token, UnknownPart, flagOf } from "./parts.ts";

/** Pieces whose tokens are kept, a count, and the longest of them. */
const KEPT = 10_000;
const LONGEST_KEPT = 256;
/** More than any id. */
const IDS = 2 ** 26;
/** More than any place in a piece. */
const PLACES = 2 ** 28;
/** Of the models of before byte-level vocabularies. */
const AFFIXES = ["continuing_subword_prefix", "end_of_word_suffix"];

/** A run of characters that has become one token. */
interface Symbols {
  ids: number[];
  bytes: number[];
}

/** Byte-pair encoding: merges the two neighbours of the lowest rank, again and again. */
export function createBpe(model: Config, measure: Measure): Model {
  // The first drops merges by chance.
  const other = ["dropout", ...AFFIXES].find((key) => model[key]);
  if (other !== undefined) throw new UnknownPart(`a model with ${JSON.stringify(other)}`);
  const vocabulary = vocabularyOf(model);
  const { idOf, tokenOf } = vocabulary;
  const { ranks, made } = mergesOf(model, idOf);
  const ignoresMerges = flagOf(model, "ignore_merges", false);
  const fallsBack = flagOf(model, "byte_fallback", false);
  const fuses = flagOf(model, "fuse_unk", false);
  const unknown = unknownOf(model, idOf);
  const kept = new Map<string, Token[]>();

  function symbolsOf(piece: string): Symbols {
    const symbols: Symbols = { ids: [], bytes: [] };
    const add = (id: number, bytes: number) => {
      symbols.ids.push(id);
      symbols.bytes.push(bytes);
    };
    let waiting = 0;
    const addWaiting = () => {
      if (waiting > 0 && unknown !== undefined) add(unknown, waiting);
      waiting = 0;
    };
    for (const character of piece) {
      const id = idOf(character);
      const bytes = id === undefined && fallsBack ? byteIds(character) : undefined;
      if (id !== undefined) {
        addWaiting();
        add(id, measure(character));
      } else if (bytes) {
        // Those that wait come after, as in Hugging Face's tokenizers.
        for (const byte of bytes) add(byte, 1);
      } else if (unknown !== undefined) {
        if (!fuses) addWaiting();
        waiting += measure(character);
      }
    }
    addWaiting();
    return symbols;
  }

  function byteIds(character: string): number[] | undefined {
    const ids = Array.from(Buffer.from(character), (byte) => idOf(byteToken(byte)));
    return ids.every((id) => id !== undefined) ? ids : undefined;
  }

  function merged({ ids, bytes }: Symbols): Token[] {
    const next = ids.map((_, i) => i + 1);
    const before = ids.map((_, i) => i - 1);
    const isGone = ids.map(() => false);
    const queue = createQueue();
    const rankAt = (place: number): number | undefined => {
      const right = next[place] ?? ids.length;
      return right < ids.length ? ranks.get(ids[place]! * IDS + ids[right]!) : undefined;
    };
    const offer = (place: number) => {
      const rank = place < 0 ? undefined : rankAt(place);
      if (rank !== undefined) queue.add(rank * PLACES + place);
    };
    for (const i of ids.keys()) offer(i);
    for (let least = queue.take(); least !== undefined; least = queue.take()) {
      const place = least % PLACES;
      const id = made[Math.floor(least / PLACES)];
      const rank = isGone[place] ? undefined : rankAt(place);
      if (rank === undefined || made[rank] !== id) continue;
      const right = next[place]!;
      ids[place] = id!;
      bytes[place]! += bytes[right]!;
      isGone[right] = true;
      const after = next[right]!;
      next[place] = after;
      if (after < ids.length) before[after] = place;
      offer(before[place]!);
      offer(place);
    }
    return ids.flatMap((id, i) =>
      isGone[i] ? [] : [{ id, token: tokenOf(id) ?? "", bytes: bytes[i]! }],
    );
  }

  function tokens(piece: string): Token[] {
    const whole = ignoresMerges ? idOf(piece) : undefined;
    if (whole !== undefined) {
      const bytes = Array.from(piece, measure).reduce((sum, one) => sum + one, 0);
      return [{ id: whole, token: piece, bytes }];
    }
    const known = kept.get(piece);
    if (known) return known;
    const found = merged(symbolsOf(piece));
    if (kept.size < KEPT && piece.length < LONGEST_KEPT) kept.set(piece, found);
    return found;
  }

  return { ...vocabulary, tokens };
}

/** The rank of each pair of ids, and what each rank makes. */
function mergesOf({ merges }: Config, idOf: Model["idOf"]) {
  if (!Array.isArray(merges)) throw new Error("its model has no list of merges");
  const pairs = merges[0] === undefined || Array.isArray(merges[0]) ? merges : written(merges);
  const made: number[] = [];
  const ranks = new Map<number, number>();
  for (const [rank, pair] of (pairs as unknown[]).entries()) {
    const [left, right] = Array.isArray(pair) ? (pair as unknown[]) : [];
    if (typeof left !== "string" || typeof right !== "string") {
      throw new Error(`its merge ${JSON.stringify(pair)} is not two texts`);
    }
    const both = idOf(left + right);
    const [first, second] = [idOf(left), idOf(right)];
    if (first === undefined || second === undefined || both === undefined) {
      throw new Error(`its merge ${JSON.stringify(pair)} is none of the vocabulary's tokens`);
    }
    ranks.set(first * IDS + second, rank);
    made.push(both);
  }
  return { ranks, made };
}

/** Pairs as one text each. */
function written(merges: unknown[]): unknown[] {
  const lines = merges.filter((line) => !String(line).startsWith("#version"));
  return lines.map((line) => (typeof line === "string" ? line.split(" ") : line));
}

function unknownOf(model: Config, idOf: Model["idOf"]): number | undefined {
  const token = model["unk_token"];
  if (typeof token !== "string") return undefined;
  const id = idOf(token);
  if (id !== undefined) return id;
  throw new UnknownPart(`the "unk_token" ${JSON.stringify(token)}, which its vocabulary lacks`);
}

/** Numbers, of which the least is taken first: a heap. */
function createQueue() {
  const heap: number[] = [];

  function add(value: number): void {
    let place = heap.length;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (heap[parent]! <= value) break;
      heap[place] = heap[parent]!;
      place = parent;
    }
    heap[place] = value;
  }

  function take(): number | undefined {
    const least = heap[0];
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return least;
    let place = 0;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && heap[child + 1]! < heap[child]!) child++;
      if (heap[child]! >= last) break;
      heap[place] = heap[child]!;
      place = child;
    }
    heap[place] = last;
    return least;
  }

  return { add, take };
}
