import type { ExampleSet } from "../examples/examples.ts";
import { batchIndices } from "./batches.ts";
import type { Preparation } from "./preparation.ts";

/** The batches of a training run. */
export interface Batches {
  training: ExampleSet;
  evaluation: ExampleSet | undefined;
  rows: number;
  seed: number;
  /** Total batches. */
  count: number;
  /** Tokens of the longest KL example; 0 if the objective has none. */
  longestKlExample?: number;
}

/** Sizes to plan memory for. */
export interface BatchSizes {
  /** Maximum tokens of a micro-batch. */
  tokens: number;
  /** Tokens of the longest sequence. */
  longest: number;
  /** Tokens of the largest example, which is never split. */
  largestExample: number;
  /** Lengths of the sequences of each example of the first batches. */
  scanned: readonly (readonly number[])[][];
}

/** Maximum rows to scan; later batches that are larger run in micro-batches. */
const MAX_ROWS = 1_000_000;

export function batchesOf({ config, objective, data, steps, maxLength }: Preparation): Batches {
  const { training, evaluation } = data;
  const longestOf = (examples: ExampleSet | undefined) =>
    (examples && objective.klExamples?.maxTokensOf(examples)) ?? 0;
  return {
    training: training.examples,
    evaluation: evaluation?.examples,
    rows: config.batchSize,
    seed: config.seed,
    count: steps * config.gradientAccumulationSteps,
    longestKlExample: Math.min(
      maxLength,
      Math.max(longestOf(training.examples), longestOf(evaluation?.examples)),
    ),
  };
}

/**
 * The largest micro-batch to plan memory for: the largest batch, halved until memory is moderate.
 * @param minTokens of a micro-batch, if the largest batch has as many
 */
export function batchSizes(
  { training, evaluation, rows, seed, count, longestKlExample = 0 }: Batches,
  { minTokens, isModerate }: { minTokens: number; isModerate: (sizes: BatchSizes) => boolean },
): BatchSizes {
  const longest =
    Math.max(training.longestSequence, evaluation?.longestSequence ?? 0, longestKlExample) - 1;
  const largestExample = Math.max(
    training.largestExample,
    evaluation?.largestExample ?? 0,
    longestKlExample - 1,
  );
  const next = batchIndices(training.length, rows, seed);
  const batches = Math.min(count, Math.max(1, Math.floor(MAX_ROWS / rows)));
  const scanned = Array.from({ length: batches }, () =>
    next().map((index) => Array.from(training.lengthsAt(index), (length) => length - 1)),
  );
  const largest = scanned.reduce(
    (highest, batch) => Math.max(highest, sumOf(batch.flat())),
    largestExample,
  );
  const min = Math.max(largestExample, Math.min(largest, minTokens));
  for (let divisor = 1; ; divisor *= 2) {
    const tokens = Math.max(min, Math.ceil(largest / divisor));
    const sizes = { tokens, longest, largestExample, scanned };
    if (tokens === min || isModerate(sizes)) return sizes;
  }
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}
