import type { Sequence } from "../../examples/examples.ts";
import { inputLength } from "../../training/microBatches.ts";
import type { Arena } from "../kernels/arena.ts";
import { scoreCount } from "../ops/attention.ts";
import type { BatchLimits, BatchPlan } from "../ops/operation.ts";

/** Number of int32 words in `counts`. */
const COUNT_WORDS = 4;

export function planBatch(arena: Arena, { tokens, sequences, selected }: BatchLimits): BatchPlan {
  const reserve = (count: number) => arena.reserveWords("activations", count);
  return {
    counts: reserve(COUNT_WORDS),
    tokens: reserve(tokens),
    positions: reserve(tokens),
    offsets: reserve(sequences + 1),
    scoreOffsets: reserve(sequences),
    selected: reserve(selected),
    targets: reserve(selected),
    lossWeights: reserve(selected),
    losses: reserve(selected),
  };
}

export type BatchArrays = Record<Exclude<keyof BatchPlan, "lossWeights" | "losses">, Int32Array> &
  Record<"lossWeights" | "losses", Float32Array>;

/** Views of a batch's arrays. */
export function batchArrays(
  { buffer }: WebAssembly.Memory,
  at: BatchPlan,
  limits: BatchLimits,
): BatchArrays {
  const { tokens, sequences, selected } = limits;
  return {
    counts: new Int32Array(buffer, at.counts, COUNT_WORDS),
    tokens: new Int32Array(buffer, at.tokens, tokens),
    positions: new Int32Array(buffer, at.positions, tokens),
    offsets: new Int32Array(buffer, at.offsets, sequences + 1),
    scoreOffsets: new Int32Array(buffer, at.scoreOffsets, sequences),
    selected: new Int32Array(buffer, at.selected, selected),
    targets: new Int32Array(buffer, at.targets, selected),
    lossWeights: new Float32Array(buffer, at.lossWeights, selected),
    losses: new Float32Array(buffer, at.losses, selected),
  };
}

/** The current batch's counts, read by every operation. The last is `runs` in inference, `usesAdapter` in training. */
export function batchCounts({ buffer }: WebAssembly.Memory, { counts }: BatchPlan) {
  const words = new Int32Array(buffer, counts, COUNT_WORDS);
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

/**
 * Writes sequences one after another, without padding.
 * @param usesAdapter whether to apply the model's adapter
 * @returns the number of learned tokens
 */
export function writeBatch(
  arrays: BatchArrays,
  sequences: readonly Sequence[],
  usesAdapter = true,
): number {
  let [tokens, scores, selected] = [0, 0, 0];
  sequences.forEach((sequence, i) => {
    const length = inputLength(sequence);
    arrays.offsets[i] = tokens;
    arrays.scoreOffsets[i] = scores;
    scores += scoreCount(length);
    for (let position = 0; position < length; position++, tokens++) {
      arrays.tokens[tokens] = sequence.tokens[position] ?? 0;
      arrays.positions[tokens] = position;
      if (sequence.learned[position + 1] !== 1) continue;
      arrays.selected[selected] = tokens;
      arrays.targets[selected] = sequence.tokens[position + 1] ?? 0;
      selected++;
    }
  });
  arrays.offsets[sequences.length] = tokens;
  arrays.counts.set([tokens, sequences.length, selected, Number(usesAdapter)]);
  return selected;
}
