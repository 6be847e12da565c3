import type { ExampleSet } from "../../examples/examples.ts";
import { batchesOnce } from "../step/batch.ts";
import type { Learner } from "../step/learner.ts";

/**
 * The mean loss of a learned token over all examples, in nats: a sum over tokens, so that the size of
 * the batches does not matter.
 * @param rows of a batch
 */
export function evaluate(learner: Learner, examples: ExampleSet, rows: number): number {
  const all = { sum: 0, count: 0 };
  for (const batch of batchesOnce(examples, rows)) {
    const { sum, count } = learner.measure(batch);
    all.sum += sum;
    all.count += count;
  }
  return all.sum / all.count;
}
