import { createHash } from "node:crypto";
import type { Span } from "../tokens/tokenizer.ts";

/** Tokens, and which of them are learned. */
export interface Example {
  tokens: Uint16Array | Uint32Array;
  /** As long as `tokens`: 1 where a token is learned from those before it. */
  learned: Uint8Array;
}

/** Sequences to learn from, or to measure a loss on. */
export interface ExampleSet {
  /** A count. */
  readonly length: number;
  /** Tokens of the longest. */
  readonly longest: number;
  /** Number of all tokens without each example's first, which is never predicted. */
  readonly predicted: number;
  /** A copy of the one at an index, from 0. */
  at: (index: number) => Example;
  /** Its tokens, a count. */
  lengthAt: (index: number) => number;
}

/** The rows of a dataset, as flat numbers, because a hundred million objects would not fit. */
export interface Examples extends ExampleSet {
  /** 16 hexadecimal digits, which change with any token, its order, and what is learned. */
  fingerprint: () => string;
  /** Those of some rows, which are counted from 0 as they were added. */
  ofRows: (isChosen: (row: number) => boolean) => ExampleSet;
  /** Adds the first tokens of a sequence. */
  addStart: (spans: readonly Span[], most: number) => void;
  /**
   * Adds a sequence in pieces. Each begins with the last token of the one before, so that no token
   * goes unlearned.
   */
  addSpans: (spans: readonly Span[], most: number) => void;
}

/** Marks a token that is learned; above every token of a small vocabulary, or of any. */
const [LEARNED_OF_FEW, LEARNED_OF_MANY] = [2 ** 15, 2 ** 30];

/**
 * @param vocabulary every token is below it
 * @param beforeGrowing called before each growth
 */
export function createExamples(vocabulary: number, beforeGrowing: () => void = () => {}): Examples {
  const isFew = vocabulary <= LEARNED_OF_FEW;
  const mark = isFew ? LEARNED_OF_FEW : LEARNED_OF_MANY;
  const tokens = createColumn(
    (length) => (isFew ? new Uint16Array(length) : new Uint32Array(length)),
    beforeGrowing,
  );
  const starts = createColumn((length) => new Float64Array(length), beforeGrowing);
  const lengths = createColumn((length) => new Uint32Array(length), beforeGrowing);
  const rows = createColumn((length) => new Uint32Array(length), beforeGrowing);
  let row = 0;
  let longest = 0;
  let predicted = 0;

  function append(spans: readonly Span[], most: number): number {
    const start = tokens.length();
    let left = most;
    for (const { tokens: added, isLearned } of spans) {
      const count = Math.min(left, added.length);
      for (let i = 0; i < count; i++) {
        tokens.push(isLearned ? added[i]! | mark : added[i]!);
      }
      left -= count;
    }
    return start;
  }

  function add(start: number, length: number): void {
    starts.push(start);
    lengths.push(length);
    rows.push(row);
    longest = Math.max(longest, length);
    predicted += length - 1;
  }

  function lengthAt(index: number): number {
    return lengths.slice(index, index + 1)[0] ?? 0;
  }

  function at(index: number): Example {
    const [start = 0] = starts.slice(index, index + 1);
    const length = lengthAt(index);
    const marked = tokens.slice(start, start + length);
    const learned = new Uint8Array(length).map((_, i) => (i > 0 && marked[i]! & mark ? 1 : 0));
    return { tokens: marked.map((token) => token & ~mark), learned };
  }

  function ofRows(isChosen: (row: number) => boolean): ExampleSet {
    const all = rows.slice(0, rows.length());
    const chosen = Uint32Array.from(all.keys()).filter((index) => isChosen(all[index] ?? 0));
    const sizes = chosen.map(lengthAt);
    return {
      length: chosen.length,
      longest: sizes.reduce((most, size) => Math.max(most, size), 0),
      predicted: sizes.reduce((sum, size) => sum + size - 1, 0),
      at: (index) => at(chosen[index] ?? 0),
      lengthAt: (index) => sizes[index] ?? 0,
    };
  }

  function fingerprint(): string {
    return digestOf([...tokens.parts(), ...lengths.parts()]);
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
    ...{ at, lengthAt },
    fingerprint,
    ofRows,
    addStart(spans, most) {
      const start = append(spans, most);
      add(start, tokens.length() - start);
      row++;
    },
    addSpans(spans, most) {
      const first = append(spans, Infinity);
      const end = tokens.length();
      for (let start = first; start + 1 < end; start += most - 1) {
        add(start, Math.min(most, end - start));
      }
      row++;
    },
  };
}

const FINGERPRINT_DIGITS = 16;

export function digestOf(parts: Iterable<NodeJS.ArrayBufferView | string>): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("hex").slice(0, FINGERPRINT_DIGITS);
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
    /** All numbers, in the order of their chunks. */
    *parts(): Generator<Numbers> {
      for (const [i, chunk] of chunks.entries()) yield chunk.subarray(0, length - i * CHUNK);
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
