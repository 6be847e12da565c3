import type { ExampleSet } from "../../examples/examples.ts";
import { batchIndices } from "../../training/batches.ts";
import { microBatchesOf } from "../model/batch.ts";
import { scoreCount } from "../ops/attention.ts";
import type { BatchLimits } from "../ops/operation.ts";
import { type TrainingSizes, MODERATE_BYTES, bytesOf } from "./trainingPlan.ts";

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

/** Maximum rows to scan; later batches that are larger run in micro-batches. */
const MAX_ROWS = 1_000_000;
/** Minimum tokens of a micro-batch. Training takes only 4 % longer than with four times as many. */
const MIN_TOKENS = 256;

/**
 * The largest micro-batch to plan memory for: the largest batch, halved until memory is moderate. It doesn't depend on
 * the number of threads, because different micro-batches would change the last digits of sums.
 */
export function batchLimits(
  { training, evaluation, rows, seed, count, longestKlExample = 0 }: Batches,
  sizes: Omit<TrainingSizes, "limits" | "threads">,
): BatchLimits {
  const longest =
    Math.max(training.longestSequence, evaluation?.longestSequence ?? 0, longestKlExample) - 1;
  const largestExample = Math.max(
    training.largestExample,
    evaluation?.largestExample ?? 0,
    longestKlExample - 1,
  );
  const next = batchIndices(training.length, rows, seed);
  const scanned = Math.min(count, Math.max(1, Math.floor(MAX_ROWS / rows)));
  const batches = Array.from({ length: scanned }, () =>
    next().map((index) => Array.from(training.lengthsAt(index), (length) => length - 1)),
  );
  const largest = batches.reduce(
    (highest, batch) => Math.max(highest, sumOf(batch.flat())),
    largestExample,
  );
  const min = Math.max(largestExample, Math.min(largest, MIN_TOKENS));

  for (let divisor = 1; ; divisor *= 2) {
    const tokens = Math.max(min, Math.ceil(largest / divisor));
    const limits = { tokens, longest, ...largestWithin(tokens) };
    if (tokens === min || bytesOf({ ...sizes, limits }) <= MODERATE_BYTES) return limits;
  }

  /** The largest micro-batch of at most `tokens` tokens. */
  function largestWithin(tokens: number): Omit<BatchLimits, "tokens" | "longest"> {
    const scoresOf = (microBatch: number[][]) => sumOf(microBatch.flat().map(scoreCount));
    const limits = { tokens, scores: Infinity };
    const largestFound = {
      sequences: tokens,
      selected: tokens,
      scores: scoreCount(largestExample),
    };
    for (const batch of batches) {
      for (const microBatch of microBatchesOf(batch, (lengths) => lengths, limits))
        largestFound.scores = Math.max(largestFound.scores, scoresOf(microBatch));
    }
    return largestFound;
  }
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}
