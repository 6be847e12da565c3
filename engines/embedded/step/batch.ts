import type { ExampleSet } from "../../examples/examples.ts";
import { createRandom } from "../../random.ts";

/** Rows of tokens as flat numbers, padded with 0 to one length: nothing that is learned sees it. */
export interface Batch {
  tokens: Int32Array<ArrayBuffer>;
  /** The token that follows each token. */
  targets: Int32Array<ArrayBuffer>;
  /** 1 where the target is learned, 0 elsewhere. */
  learned: Float32Array<ArrayBuffer>;
  /** Tokens that are not padding, a count. */
  size: number;
}

/** The size of a batch. */
export interface BatchSize {
  rows: number;
  /** Tokens of each row. */
  length: number;
}

/** Numbers of a vector: rows of whole ones are read fastest. */
const LANES = 4;

/**
 * Length of every row: the longest example's, without the last token, which is only predicted; up
 * to a multiple of 4.
 */
export function rowLength(longest: number): number {
  return Math.ceil((longest - 1) / LANES) * LANES;
}

/**
 * Pass after pass over all examples, each in an order of its own that the seed decides. A batch may
 * span two passes.
 * @param skipped rows that were taken before
 */
export function createFeed(
  examples: ExampleSet,
  size: BatchSize,
  seed: number,
  skipped = 0,
): () => Batch {
  const order = passes(examples.length, seed, skipped);
  return () => {
    const rows = Array.from({ length: size.rows }, () => order.next().value);
    return batchOf(examples, rows, size);
  };
}

/** All examples once, in their order; the last batch may have rows of padding alone. */
export function* batchesOnce(examples: ExampleSet, size: BatchSize): Generator<Batch> {
  for (let from = 0; from < examples.length; from += size.rows) {
    const count = Math.min(size.rows, examples.length - from);
    yield batchOf(
      examples,
      Array.from({ length: count }, (_, i) => from + i),
      size,
    );
  }
}

function batchOf(examples: ExampleSet, chosen: number[], { rows, length }: BatchSize): Batch {
  const batch: Batch = {
    tokens: new Int32Array(rows * length),
    targets: new Int32Array(rows * length),
    learned: new Float32Array(rows * length),
    size: 0,
  };
  chosen.forEach((index, row) => {
    const { tokens, learned } = examples.at(index);
    batch.tokens.set(tokens.subarray(0, -1), row * length);
    batch.targets.set(tokens.subarray(1), row * length);
    batch.learned.set(learned.subarray(1), row * length);
    batch.size += tokens.length - 1;
  });
  return batch;
}

/** Indices below `count`, shuffled anew for each pass, without the first `skipped`. */
function* passes(count: number, seed: number, skipped: number): Generator<number, never> {
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
