import type { ExampleSet } from "../examples/examples.ts";
import { type Mean, addMeans } from "../objectives/objective.ts";
import { batchesOnce } from "./order.ts";
import { type Learning, measureBatch } from "./step.ts";

/** What the held-out rows say of a model. */
export interface EvaluationResult {
  /** The mean over all units, in nats. */
  evalLoss: number;
  metrics: Record<string, Mean>;
}

/**
 * Sums over all examples, each divided once, so that the size of the batches does not matter.
 * @param rows of a batch
 */
export async function evaluate(
  learning: Learning,
  examples: ExampleSet,
  rows: number,
): Promise<EvaluationResult> {
  const all = { sum: 0, count: 0 };
  const metrics: Record<string, Mean> = {};
  for (const batch of batchesOnce(examples, rows)) {
    const measured = await measureBatch(learning, batch);
    all.sum += measured.loss.sum;
    all.count += measured.loss.count;
    addMeans(metrics, measured.metrics);
  }
  return { evalLoss: all.sum / all.count, metrics };
}
