import { createHash } from "node:crypto";
import type { Span } from "../tokens/tokenizer.ts";

/** Tokens, and which of them are learned. */
export interface Sequence {
  tokens: Uint16Array | Uint32Array;
  /** As long as `tokens`: 1 where a token is learned from those before it. */
  learned: Uint8Array;
}

/** What a row becomes: the sequences that are learned together, mostly a single one. */
export interface Example {
  sequences: readonly Sequence[];
  /** Set if its answer was judged to be bad. */
  isBad?: true;
}

/** Examples to learn from, or to measure a loss on. */
export interface ExampleSet {
  /** A count. */
  readonly length: number;
  /** Tokens of the longest sequence. */
  readonly longest: number;
  /** Tokens that are read of the largest example: of each sequence all but the last. */
  readonly largest: number;
  /** Number of all tokens without each sequence's first, which is never predicted. */
  readonly predicted: number;
  /** A copy of the one at an index, from 0. */
  at: (index: number) => Example;
  /** The tokens of each of its sequences, counts. */
  lengthsAt: (index: number) => Uint32Array;
  /** The row that one was made of, counted from 0 as they were added. */
  rowAt: (index: number) => number;
}

/** The rows of a dataset, as flat numbers, because a hundred million objects would not fit. */
export interface Examples extends ExampleSet {
  /** 16 hexadecimal digits, which change with any token, its order, and what is learned. */
  fingerprint: () => string;
  /** Those of some rows, which are counted from 0 as they were added. */
  ofRows: (isChosen: (row: number) => boolean) => ExampleSet;
  /** Adds a row's example: the first tokens of each of its sequences. @param isBad default: false */
  addStart: (sequences: readonly (readonly Span[])[], most: number, isBad?: boolean) => void;
  /**
   * Adds a row's only sequence in pieces, an example each. Each begins with the last token of the one
   * before, so that no token goes unlearned.
   */
  addPieces: (sequence: readonly Span[], most: number) => void;
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
  /** Of each sequence. */
  const starts = createColumn((length) => new Float64Array(length), beforeGrowing);
  const lengths = createColumn((length) => new Uint32Array(length), beforeGrowing);
  /** Of each example: its first sequence, and its row. */
  const firsts = createColumn((length) => new Uint32Array(length), beforeGrowing);
  const rows = createColumn((length) => new Uint32Array(length), beforeGrowing);
  /** Indices of the examples whose answer is bad. */
  const bad = new Set<number>();
  let row = 0;
  let longest = 0;
  let largest = 0;
  let predicted = 0;

  /** @returns where they start */
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

  /** @param sequences starts and lengths */
  function addExample(sequences: readonly (readonly [start: number, length: number])[]): void {
    firsts.push(lengths.length());
    rows.push(row);
    for (const [start, length] of sequences) {
      starts.push(start);
      lengths.push(length);
      longest = Math.max(longest, length);
    }
    const size = readIn(sequences.map(([, length]) => length));
    largest = Math.max(largest, size);
    predicted += size;
  }

  /** Its first sequence, and the one after its last. */
  function rangeAt(index: number): readonly [number, number] {
    const [first = 0, end = lengths.length()] = firsts.slice(
      index,
      Math.min(index + 2, firsts.length()),
    );
    return [first, end];
  }

  function lengthsAt(index: number): Uint32Array {
    return lengths.slice(...rangeAt(index));
  }

  function at(index: number): Example {
    const range = rangeAt(index);
    const sizes = lengths.slice(...range);
    const sequences = [...starts.slice(...range)].map((start, i) => {
      const marked = tokens.slice(start, start + (sizes[i] ?? 0));
      const learned = new Uint8Array(marked.length).map((_, at) =>
        at > 0 && marked[at]! & mark ? 1 : 0,
      );
      return { tokens: marked.map((token) => token & ~mark), learned };
    });
    return { sequences, ...(bad.has(index) && { isBad: true }) };
  }

  function ofRows(isChosen: (row: number) => boolean): ExampleSet {
    const all = rows.slice(0, rows.length());
    const chosen = Uint32Array.from(all.keys()).filter((index) => isChosen(all[index] ?? 0));
    let [longest, largest, predicted] = [0, 0, 0];
    for (const index of chosen) {
      const sizes = lengthsAt(index);
      const size = readIn(sizes);
      longest = Math.max(longest, ...sizes);
      largest = Math.max(largest, size);
      predicted += size;
    }
    return {
      ...{ length: chosen.length, longest, largest, predicted },
      at: (index) => at(chosen[index] ?? 0),
      lengthsAt: (index) => lengthsAt(chosen[index] ?? 0),
      rowAt: (index) => all[chosen[index] ?? 0] ?? 0,
    };
  }

  function fingerprint(): string {
    return digestOf([...tokens.parts(), ...lengths.parts(), Uint32Array.from(bad)]);
  }

  return {
    get length() {
      return rows.length();
    },
    get longest() {
      return longest;
    },
    get largest() {
      return largest;
    },
    get predicted() {
      return predicted;
    },
    ...{ at, lengthsAt },
    rowAt: (index) => rows.slice(index, index + 1)[0] ?? 0,
    fingerprint,
    ofRows,
    addStart(sequences, most, isBad = false) {
      if (isBad) bad.add(rows.length());
      addExample(
        sequences.map((spans) => {
          const start = append(spans, most);
          return [start, tokens.length() - start];
        }),
      );
      row++;
    },
    addPieces(sequence, most) {
      const first = append(sequence, Infinity);
      const end = tokens.length();
      for (let start = first; start + 1 < end; start += most - 1) {
        addExample([[start, Math.min(most, end - start)]]);
      }
      row++;
    },
  };
}

/** The tokens that are read of sequences: the last of each is only predicted. */
function readIn(lengths: Iterable<number>): number {
  let sum = 0;
  for (const length of lengths) sum += length - 1;
  return sum;
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
