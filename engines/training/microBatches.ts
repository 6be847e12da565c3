import type { Example, Sequence } from "../examples/examples.ts";
import type { LogProbs } from "./backend.ts";

/** A limit of a micro-batch: the sum of its sequences' sizes. */
export interface MicroBatchLimit {
  /** A sequence's size, by its input tokens. */
  sizeOf: (length: number) => number;
  max: number;
}

/** Number of input tokens of a sequence: its last token is only predicted. */
export function inputLength({ tokens }: Sequence): number {
  return tokens.length - 1;
}

/** Splits groups of sequences, in order, into micro-batches within the limits. A group is never split. */
export function microBatchesOf<T>(
  groups: readonly T[],
  lengthsOf: (group: T) => readonly number[],
  limits: readonly MicroBatchLimit[],
): T[][] {
  const microBatches: T[][] = [];
  let remaining = limits.map(() => 0);
  for (const group of groups) {
    const lengths = lengthsOf(group);
    const sizes = limits.map(({ sizeOf }) =>
      lengths.reduce((sum, length) => sum + sizeOf(length), 0),
    );
    if (microBatches.length === 0 || sizes.some((size, i) => size > remaining[i]!)) {
      microBatches.push([]);
      remaining = limits.map(({ max }) => max);
    }
    microBatches.at(-1)?.push(group);
    remaining = remaining.map((size, i) => size - sizes[i]!);
  }
  return microBatches;
}

/** The sequences with a learned token; others have no gradient. */
export function learnedSequences({ sequences }: Example): Sequence[] {
  return sequences.filter(({ learned }) => learned.includes(1));
}

/** Converts the learned tokens' losses to log probabilities, one array for each sequence. */
export function logProbsOf(examples: readonly Example[], losses: Float32Array): LogProbs {
  let from = 0;
  return examples.map(({ sequences }) =>
    sequences.map(({ learned }) => {
      const count = learned.reduce((sum, flag) => sum + flag, 0);
      from += count;
      return losses.subarray(from - count, from).map((loss) => -loss);
    }),
  );
}
