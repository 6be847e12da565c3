import { createRandom } from "../dataset/random.ts";
import type { Example, ExampleSet } from "../examples/examples.ts";

/**
 * Loads batches from endless epochs, each shuffled anew by the seed. A batch may span two epochs.
 * @param rows per batch
 * @param skipped number of rows already trained on
 */
export function createBatchLoader(
  examples: ExampleSet,
  rows: number,
  seed: number,
  skipped = 0,
): () => Example[] {
  const next = batchIndices(examples.length, rows, seed, skipped);
  return () => next().map((index) => examples.at(index));
}

/** As `createBatchLoader`, but loads the examples' indices. */
export function batchIndices(
  count: number,
  rows: number,
  seed: number,
  skipped = 0,
): () => number[] {
  const order = epochs(count, seed, skipped);
  return () => Array.from({ length: rows }, () => order.next().value);
}

/** All examples once, in order; the last batch may have fewer rows. */
export function* batchesOnce(examples: ExampleSet, rows: number): Generator<Example[]> {
  for (let from = 0; from < examples.length; from += rows) {
    const count = Math.min(rows, examples.length - from);
    yield Array.from({ length: count }, (_, i) => examples.at(from + i));
  }
}

/** Indices below `count`, which is at least 1, shuffled anew for each epoch, without the first `skipped`. */
function* epochs(count: number, seed: number, skipped: number): Generator<number, never> {
  const random = createRandom(seed, "order");
  const order = new Uint32Array(count).map((_, i) => i);
  for (;;) {
    for (let i = count - 1; i > 0; i--) {
      const j = Math.floor(random.uniform() * (i + 1));
      [order[i], order[j]] = [order[j] ?? 0, order[i] ?? 0];
    }
    yield* order.subarray(Math.min(skipped, count));
    skipped = Math.max(0, skipped - count);
  }
}
