import type { Sequence } from "../../examples/examples.ts";
import type { Arena } from "../kernels/arena.ts";
import { squareOf } from "../ops/attention.ts";
import type { BatchLimits, BatchPlan } from "../ops/operation.ts";

/** Numbers in `counts`. */
const COUNTS = 4;

export function planBatch(arena: Arena, { tokens, sequences, selected }: BatchLimits): BatchPlan {
  const words = (count: number) => arena.words("activations", count);
  return {
    counts: words(COUNTS),
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
    counts: new Int32Array(buffer, at.counts, COUNTS),
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
  const words = new Int32Array(buffer, counts, COUNTS);
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
    get runs() {
      return words[3] ?? 0;
    },
    get usesAdapter() {
      return words[3] !== 0;
    },
  };
}

/** What a batch may have; every sequence fits. */
export type PartLimits = Pick<BatchLimits, "tokens" | "squares">;

/** Tokens that a model reads of a sequence: the last one is only predicted. */
export function readLength({ tokens }: Sequence): number {
  return tokens.length - 1;
}

/** Splits groups of sequences, in their order, into batches that fit; a group is never split. */
export function partsOf<T>(
  groups: readonly T[],
  lengthsOf: (group: T) => readonly number[],
  limits: PartLimits,
): T[][] {
  const parts: T[][] = [];
  const left = { tokens: 0, squares: 0 };
  for (const group of groups) {
    const lengths = lengthsOf(group);
    const tokens = lengths.reduce((sum, length) => sum + length, 0);
    const squares = lengths.reduce((sum, length) => sum + squareOf(length), 0);
    if (parts.length === 0 || tokens > left.tokens || squares > left.squares) {
      parts.push([]);
      Object.assign(left, { tokens: limits.tokens, squares: limits.squares });
    }
    parts.at(-1)?.push(group);
    left.tokens -= tokens;
    left.squares -= squares;
  }
  return parts;
}

/**
 * Writes sequences one after another, without padding.
 * @param usesAdapter whether the model's adapter takes part
 * @returns how many tokens are learned
 */
export function writeBatch(
  to: BatchArrays,
  sequences: readonly Sequence[],
  usesAdapter = true,
): number {
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
      selected++;
    }
  });
  to.offsets[sequences.length] = tokens;
  to.counts.set([tokens, sequences.length, selected, Number(usesAdapter)]);
  return selected;
}
