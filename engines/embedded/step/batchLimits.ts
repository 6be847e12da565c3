import type { ExampleSet } from "../../examples/examples.ts";
import { batchIndices } from "../../training/order.ts";
import { partsOf } from "../model/batch.ts";
import { squareOf } from "../ops/attention.ts";
import type { BatchLimits } from "../ops/operation.ts";
import { type TrainingSizes, MODERATE_BYTES, bytesOf } from "./trainingPlan.ts";

/** The batches of a training. */
export interface Batches {
  training: ExampleSet;
  evaluation: ExampleSet | undefined;
  /** Of a batch. */
  rows: number;
  seed: number;
  /** Batches in all. */
  count: number;
  /** Length in tokens of the longest mismatched sequence; 0 if the objective makes none. */
  others?: number;
}

/** Rows that are looked at, at most: later batches that are larger run in parts. */
const MOST_ROWS = 1_000_000;
/** A step of so few tokens at a time takes 4 % longer than of four times as many. */
const FEW_TOKENS = 256;

/**
 * The largest batch to plan memory for: the largest that occurs, or a half, a quarter and so on of it where
 * that would take much, so that batches run in parts. The number of threads does not matter, because sums
 * over other parts differ in their last digits.
 */
export function batchLimits(
  { training, evaluation, rows, seed, count, others = 0 }: Batches,
  sizes: Omit<TrainingSizes, "limits" | "threads">,
): BatchLimits {
  const longest = Math.max(training.longest, evaluation?.longest ?? 0, others) - 1;
  const largestExample = Math.max(training.largest, evaluation?.largest ?? 0, others - 1);
  const next = batchIndices(training.length, rows, seed);
  const looked = Math.min(count, Math.max(1, Math.floor(MOST_ROWS / rows)));
  const batches = Array.from({ length: looked }, () =>
    next().map((index) => Array.from(training.lengthsAt(index), (length) => length - 1)),
  );
  const largest = batches.reduce(
    (most, batch) => Math.max(most, sumOf(batch.flat())),
    largestExample,
  );
  const least = Math.max(largestExample, Math.min(largest, FEW_TOKENS));

  for (let parts = 1; ; parts *= 2) {
    const tokens = Math.max(least, Math.ceil(largest / parts));
    const limits = { tokens, longest, ...measure(tokens) };
    if (tokens === least || bytesOf({ ...sizes, limits }) <= MODERATE_BYTES) return limits;
  }

  /** The largest part of at most so many tokens. */
  function measure(tokens: number): Omit<BatchLimits, "tokens" | "longest"> {
    const square = (part: number[][]) => sumOf(part.flat().map(squareOf));
    const limits = { tokens, squares: Infinity };
    const found = { sequences: tokens, selected: tokens, squares: squareOf(largestExample) };
    for (const batch of batches) {
      for (const part of partsOf(batch, (lengths) => lengths, limits))
        found.squares = Math.max(found.squares, square(part));
    }
    return found;
  }
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}
