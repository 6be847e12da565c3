import { createHash } from "node:crypto";
import type { Span } from "../tokens/tokenizer.ts";

/** Tokens and their loss mask. */
export interface Sequence {
  tokens: Uint16Array | Uint32Array;
  /** 1 for each token that counts for the loss. */
  learned: Uint8Array;
}

/** Sequences of a row that are trained on together: usually one, or a preference pair's two. */
export interface Example {
  sequences: readonly Sequence[];
  /** Set if its answer is labelled undesirable. */
  isUndesirable?: true;
}

/** Examples to train or evaluate on. */
export interface ExampleSet {
  readonly length: number;
  /** Tokens in the longest sequence. */
  readonly longestSequence: number;
  /** Input tokens of the largest example: all but the last of each sequence. */
  readonly largestExample: number;
  /** Predicted tokens: all but each sequence's first. */
  readonly predictedTokens: number;
  /** A copy of an example. */
  at: (index: number) => Example;
  /** Lengths of an example's sequences, in tokens. */
  lengthsAt: (index: number) => Uint32Array;
  /** Index of an example's row, in insertion order. */
  rowAt: (index: number) => number;
}

/** A dataset's rows in flat arrays, because a hundred million objects would not fit in memory. */
export interface Examples extends ExampleSet {
  /** 16 hexadecimal digits that identify all tokens, their order and their loss masks. */
  fingerprint: () => string;
  /** Examples of the chosen rows. */
  ofRows: (isChosen: (row: number) => boolean) => ExampleSet;
  /** Adds a row as one example, truncating its sequences. */
  addTruncated: (
    sequences: readonly (readonly Span[])[],
    maxLength: number,
    isUndesirable?: boolean,
  ) => void;
  /**
   * Adds a row's only sequence in chunks, an example each. A chunk begins with the last token of the one before, so
   * that every token is predicted once.
   */
  addChunks: (sequence: readonly Span[], maxLength: number) => void;
}

/** The bit that marks a stored token as learned, in 16-bit and in 32-bit arrays. Token ids are below it. */
const [LEARNED_BIT_16, LEARNED_BIT_32] = [2 ** 15, 2 ** 30];

/**
 * @param vocabulary number of token ids
 * @param beforeGrowing called before each allocation
 */
export function createExamples(vocabulary: number, beforeGrowing: () => void = () => {}): Examples {
  const isIn16Bits = vocabulary <= LEARNED_BIT_16;
  const learnedBit = isIn16Bits ? LEARNED_BIT_16 : LEARNED_BIT_32;
  const tokens = createColumn(
    (length) => (isIn16Bits ? new Uint16Array(length) : new Uint32Array(length)),
    beforeGrowing,
  );
  /** Each sequence's start in `tokens`, and its length. */
  const starts = createColumn((length) => new Float64Array(length), beforeGrowing);
  const lengths = createColumn((length) => new Uint32Array(length), beforeGrowing);
  /** Each example's first sequence, and its row. */
  const firstSequences = createColumn((length) => new Uint32Array(length), beforeGrowing);
  const rows = createColumn((length) => new Uint32Array(length), beforeGrowing);
  /** Indices of undesirable examples. */
  const undesirable = new Set<number>();
  let row = 0;
  let longestSequence = 0;
  let largestExample = 0;
  let predictedTokens = 0;

  /** @returns the index of the first appended token */
  function append(spans: readonly Span[], maxLength: number): number {
    const start = tokens.length();
    let remaining = maxLength;
    for (const { tokens: added, isLearned } of spans) {
      const count = Math.min(remaining, added.length);
      for (let i = 0; i < count; i++) {
        tokens.push(isLearned ? added[i]! | learnedBit : added[i]!);
      }
      remaining -= count;
    }
    return start;
  }

  /** @param sequences starts and lengths */
  function addExample(sequences: readonly (readonly [start: number, length: number])[]): void {
    firstSequences.push(lengths.length());
    rows.push(row);
    for (const [start, length] of sequences) {
      starts.push(start);
      lengths.push(length);
      longestSequence = Math.max(longestSequence, length);
    }
    const size = inputTokens(sequences.map(([, length]) => length));
    largestExample = Math.max(largestExample, size);
    predictedTokens += size;
  }

  /** The range of an example's sequences, end excluded. */
  function rangeAt(index: number): readonly [number, number] {
    const [first = 0, end = lengths.length()] = firstSequences.slice(
      index,
      Math.min(index + 2, firstSequences.length()),
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
        at > 0 && marked[at]! & learnedBit ? 1 : 0,
      );
      return { tokens: marked.map((token) => token & ~learnedBit), learned };
    });
    return { sequences, ...(undesirable.has(index) && { isUndesirable: true }) };
  }

  function ofRows(isChosen: (row: number) => boolean): ExampleSet {
    const allRows = rows.slice(0, rows.length());
    const chosen = Uint32Array.from(allRows.keys()).filter((index) =>
      isChosen(allRows[index] ?? 0),
    );
    let [longestSequence, largestExample, predictedTokens] = [0, 0, 0];
    for (const index of chosen) {
      const sizes = lengthsAt(index);
      const size = inputTokens(sizes);
      longestSequence = Math.max(longestSequence, ...sizes);
      largestExample = Math.max(largestExample, size);
      predictedTokens += size;
    }
    return {
      length: chosen.length,
      longestSequence,
      largestExample,
      predictedTokens,
      at: (index) => at(chosen[index] ?? 0),
      lengthsAt: (index) => lengthsAt(chosen[index] ?? 0),
      rowAt: (index) => allRows[chosen[index] ?? 0] ?? 0,
    };
  }

  function fingerprint(): string {
    return digestOf([...tokens.chunks(), ...lengths.chunks(), Uint32Array.from(undesirable)]);
  }

  return {
    get length() {
      return rows.length();
    },
    get longestSequence() {
      return longestSequence;
    },
    get largestExample() {
      return largestExample;
    },
    get predictedTokens() {
      return predictedTokens;
    },
    at,
    lengthsAt,
    rowAt: (index) => rows.slice(index, index + 1)[0] ?? 0,
    fingerprint,
    ofRows,
    addTruncated(sequences, maxLength, isUndesirable = false) {
      if (isUndesirable) undesirable.add(rows.length());
      addExample(
        sequences.map((spans) => {
          const start = append(spans, maxLength);
          return [start, tokens.length() - start];
        }),
      );
      row++;
    },
    addChunks(sequence, maxLength) {
      const first = append(sequence, Infinity);
      const end = tokens.length();
      for (let start = first; start + 1 < end; start += maxLength - 1) {
        addExample([[start, Math.min(maxLength, end - start)]]);
      }
      row++;
    },
  };
}

/** Input tokens of sequences: the last of each is only predicted. */
function inputTokens(lengths: Iterable<number>): number {
  let sum = 0;
  for (const length of lengths) sum += length - 1;
  return sum;
}

const FINGERPRINT_DIGITS = 16;

export function digestOf(inputs: Iterable<NodeJS.ArrayBufferView | string>): string {
  const hash = createHash("sha256");
  for (const input of inputs) hash.update(input);
  return hash.digest("hex").slice(0, FINGERPRINT_DIGITS);
}

type Numbers = Uint16Array | Uint32Array | Float64Array;

/** Elements per chunk. Growing copies nothing and wastes less than one chunk. */
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
    /** All elements, chunk by chunk. */
    *chunks(): Generator<Numbers> {
      for (const [i, chunk] of chunks.entries()) yield chunk.subarray(0, length - i * CHUNK);
    },
    slice(from: number, to: number): N {
      const copy = create(to - from);
      for (let at = from; at < to;) {
        const inChunk = at % CHUNK;
        const chunk = chunks[Math.floor(at / CHUNK)]?.subarray(inChunk, inChunk + to - at);
        if (!chunk) break;
        copy.set(chunk, at - from);
        at += chunk.length;
      }
      return copy;
    },
  };
}
