import { type BatchSizes, type Batches, batchSizes } from "../../training/batchSizes.ts";
import { type MicroBatchLimit, microBatchesOf } from "../../training/microBatches.ts";
import { scoreCount } from "../ops/attention.ts";
import type { BatchLimits } from "../ops/operation.ts";
import { type TrainingSizes, MODERATE_BYTES, bytesOf } from "./trainingPlan.ts";

/** Minimum tokens of a micro-batch. Training takes only 4 % longer than with four times as many. */
const MIN_TOKENS = 256;

/**
 * The limits to plan memory for. They don't depend on the number of threads, because different micro-batches would
 * change the last digits of sums.
 */
export function batchLimits(
  batches: Batches,
  sizes: Omit<TrainingSizes, "limits" | "threads">,
): BatchLimits {
  return limitsFor(
    batchSizes(batches, {
      minTokens: MIN_TOKENS,
      isModerate: (found) => bytesOf({ ...sizes, limits: limitsFor(found) }) <= MODERATE_BYTES,
    }),
  );
}

/** Limits of a micro-batch, in which every sequence fits. */
export function microBatchLimits({
  tokens,
  scores,
}: Pick<BatchLimits, "tokens" | "scores">): MicroBatchLimit[] {
  return [
    { sizeOf: (length) => length, max: tokens },
    { sizeOf: scoreCount, max: scores },
  ];
}

/** The largest micro-batch of at most `tokens` tokens. */
function limitsFor({ tokens, longest, largestExample, scanned }: BatchSizes): BatchLimits {
  const limits = microBatchLimits({ tokens, scores: Infinity });
  let scores = scoreCount(largestExample);
  for (const batch of scanned) {
    for (const microBatch of microBatchesOf(batch, (lengths) => lengths, limits)) {
      const lengths = microBatch.flat();
      scores = Math.max(
        scores,
        lengths.reduce((sum, length) => sum + scoreCount(length), 0),
      );
    }
  }
  return { tokens, longest, sequences: tokens, selected: tokens, scores };
}
