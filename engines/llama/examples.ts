import type { Span } from "./chat.ts";

/** Tokens, and which of them are learned. */
export interface Example {
  tokens: Uint16Array;
  /** As long as `tokens`: 1 where a token is learned from those before it. */
  learned: Uint8Array;
}

/** The training data, as flat numbers, because a hundred million objects would not fit. */
export interface Examples {
  /** A count. */
  readonly length: number;
  /** Tokens of the longest. */
  readonly longest: number;
  /** Of all, without each one's first, which is never predicted; a count. */
  readonly predicted: number;
  /** A copy of the one at an index, from 0. */
  at: (index: number) => Example;
  /** Adds the first tokens of a sequence. */
  addStart: (spans: readonly Span[], most: number) => void;
  /**
   * Adds a sequence in pieces. Each begins with the last token of the one before, so that no token
   * goes unlearned.
   */
  addPieces: (spans: readonly Span[], most: number) => void;
}

/** Marks a token that is learned; above every token. */
const LEARNED = 0x8000;

/** @param beforeGrowing called before each growth */
export function createExamples(beforeGrowing: () => void = () => {}): Examples {
  const tokens = createColumn((length) => new Uint16Array(length), beforeGrowing);
  const starts = createColumn((length) => new Float64Array(length), beforeGrowing);
  const lengths = createColumn((length) => new Uint32Array(length), beforeGrowing);
  let longest = 0;
  let predicted = 0;

  function append(spans: readonly Span[], most: number): number {
    const start = tokens.length();
    let left = most;
    for (const { tokens: added, isLearned } of spans) {
      const count = Math.min(left, added.length);
      for (let i = 0; i < count; i++) {
        tokens.push(isLearned ? added[i]! | LEARNED : added[i]!);
      }
      left -= count;
    }
    return start;
  }

  function add(start: number, length: number): void {
    starts.push(start);
    lengths.push(length);
    longest = Math.max(longest, length);
    predicted += length - 1;
  }

  return {
    get length() {
      return lengths.length();
    },
    get longest() {
      return longest;
    },
    get predicted() {
      return predicted;
    },
    at(index) {
      const [start = 0] = starts.slice(index, index + 1);
      const [length = 0] = lengths.slice(index, index + 1);
      const marked = tokens.slice(start, start + length);
      const learned = new Uint8Array(length).map((_, i) => (i > 0 && marked[i]! & LEARNED ? 1 : 0));
      return { tokens: marked.map((token) => token & ~LEARNED), learned };
    },
    addStart(spans, most) {
      const start = append(spans, most);
      add(start, tokens.length() - start);
    },
    addPieces(spans, most) {
      const first = append(spans, Infinity);
      const end = tokens.length();
      for (let start = first; start + 1 < end; start += most - 1) {
        add(start, Math.min(most, end - start));
      }
    },
  };
}

type Numbers = Uint16Array | Uint32Array | Float64Array;

/** Numbers per chunk. Growing copies nothing and wastes less than one chunk. */
const CHUNK = 2 ** 18;

/** A growing array of numbers. */
function createColumn<N extends Numbers>(create: (length: number) => N, beforeGrowing: () => void) {
  const chunks: N[] = [];
  let last = create(0);
  let length = 0;
  return {
    length: () => length,
    push(value: number): void {
      const at = length % CHUNK;
      if (at === 0) {
        beforeGrowing();
        last = create(CHUNK);
        chunks.push(last);
      }
      last[at] = value;
      length++;
    },
    slice(from: number, to: number): N {
      const copy = create(to - from);
      for (let at = from; at < to;) {
        const inChunk = at % CHUNK;
        const part = chunks[Math.floor(at / CHUNK)]?.subarray(inChunk, inChunk + to - at);
        if (!part) break;
        copy.set(part, at - from);
        at += part.length;
      }
      return copy;
    },
  };
}
