import type { ExampleSet } from "../../examples/examples.ts";
import { type BatchSize, batchesOnce } from "../step/batch.ts";
import type { Learner } from "../step/learner.ts";

/**
 * The mean loss of a learned token over all examples, in nats: a sum over tokens, so that the size of
 * the batches does not matter.
 */
export function evaluate(learner: Learner, examples: ExampleSet, size: BatchSize): number {
  const all = { sum: 0, count: 0 };
  for (const batch of batchesOnce(examples, size)) {
    const { sum, count } = learner.measure(batch);
    all.sum += sum;
    all.count += count;
  }
  return all.sum / all.count;
}
