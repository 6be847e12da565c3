import type { Example } from "../../examples/examples.ts";
import type { Arena } from "../kernels/arena.ts";
import { squareOf } from "../ops/attention.ts";
import type { BatchLimits, BatchPlan } from "../ops/operation.ts";

export function planBatch(arena: Arena, { tokens, sequences, selected }: BatchLimits): BatchPlan {
  const words = (count: number) => arena.words("activations", count);
  return {
    counts: words(3),
    tokens: words(tokens),
    positions: words(tokens),
    offsets: words(sequences + 1),
    squares: words(sequences),
    selected: words(selected),
    targets: words(selected),
    lossWeights: words(selected),
    losses: words(selected),
  };
}

/** The arrays of a batch. */
export type BatchArrays = Record<Exclude<keyof BatchPlan, "lossWeights" | "losses">, Int32Array> &
  Record<"lossWeights" | "losses", Float32Array>;

/** They in the shared memory. */
export function batchArrays(
  { buffer }: WebAssembly.Memory,
  at: BatchPlan,
  limits: BatchLimits,
): BatchArrays {
  const { tokens, sequences, selected } = limits;
  return {
    counts: new Int32Array(buffer, at.counts, 3),
    tokens: new Int32Array(buffer, at.tokens, tokens),
    positions: new Int32Array(buffer, at.positions, tokens),
    offsets: new Int32Array(buffer, at.offsets, sequences + 1),
    squares: new Int32Array(buffer, at.squares, sequences),
    selected: new Int32Array(buffer, at.selected, selected),
    targets: new Int32Array(buffer, at.targets, selected),
    lossWeights: new Float32Array(buffer, at.lossWeights, selected),
    losses: new Float32Array(buffer, at.losses, selected),
  };
}

/** The counts of the batch in work, as each operation of a thread reads them. */
export function batchCounts({ buffer }: WebAssembly.Memory, { counts }: BatchPlan) {
  const words = new Int32Array(buffer, counts, 3);
  return {
    get tokens() {
      return words[0] ?? 0;
    },
    get sequences() {
      return words[1] ?? 0;
    },
    get selected() {
      return words[2] ?? 0;
    },
  };
}

/** What a batch may have; every sequence fits. */
export type PartLimits = Pick<BatchLimits, "tokens" | "squares">;

/** Tokens that a model reads of a sequence: the last one is only predicted. */
export function readLength({ tokens }: Example): number {
  return tokens.length - 1;
}

/** Splits sequences, in their order, into batches that fit. */
export function partsOf<T>(
  sequences: readonly T[],
  lengthOf: (sequence: T) => number,
  limits: PartLimits,
): T[][] {
  const parts: T[][] = [];
  const left = { tokens: 0, squares: 0 };
  for (const sequence of sequences) {
    const length = lengthOf(sequence);
    const square = squareOf(length);
    if (length > left.tokens || square > left.squares) {
      parts.push([]);
      Object.assign(left, { tokens: limits.tokens, squares: limits.squares });
    }
    parts.at(-1)?.push(sequence);
    left.tokens -= length;
    left.squares -= square;
  }
  return parts;
}

/**
 * Writes sequences one after another, without padding.
 * @param weight what a learned token's loss counts
 * @returns how many are learned
 */
export function writeBatch(to: BatchArrays, sequences: readonly Example[], weight: number): number {
  let [tokens, squares, selected] = [0, 0, 0];
  sequences.forEach((sequence, i) => {
    const length = readLength(sequence);
    to.offsets[i] = tokens;
    to.squares[i] = squares;
    squares += squareOf(length);
    for (let position = 0; position < length; position++, tokens++) {
      to.tokens[tokens] = sequence.tokens[position] ?? 0;
      to.positions[tokens] = position;
      if (sequence.learned[position + 1] !== 1) continue;
      to.selected[selected] = tokens;
      to.targets[selected] = sequence.tokens[position + 1] ?? 0;
      to.lossWeights[selected] = weight;
      selected++;
    }
  });
  to.offsets[sequences.length] = tokens;
  to.counts.set([tokens, sequences.length, selected]);
  return selected;
}
