import type { Examples } from "../../llama/examples.ts";
import { createRandom } from "../../llama/random.ts";
import { SPECIALS } from "../../llama/tokenizer.ts";

/** Rows of tokens as flat numbers, padded to one length. */
export interface Batch {
  tokens: Int32Array<ArrayBuffer>;
  /** The token that follows each token. */
  targets: Int32Array<ArrayBuffer>;
  /** 1 where the target is learned, 0 elsewhere. */
  learned: Float32Array<ArrayBuffer>;
  /** Tokens that are not padding, a count. */
  size: number;
}

/** Numbers of a vector: rows of whole ones are read fastest. */
const LANES = 4;

/**
 * Length of every row: the longest example's, without the last token, which is only predicted; up
 * to a multiple of 4.
 */
export function rowLength({ longest }: Examples): number {
  return Math.ceil((longest - 1) / LANES) * LANES;
}

/**
 * Endless batches of `rows` examples: pass after pass over all of them, each in an order of its own
 * that the seed decides. A batch may span two passes.
 */
export function* batches(examples: Examples, rows: number, seed: number): Generator<Batch, never> {
  const length = rowLength(examples);
  const order = passes(examples.length, seed);
  for (;;) {
    const batch: Batch = {
      tokens: new Int32Array(rows * length).fill(SPECIALS.pad),
      targets: new Int32Array(rows * length).fill(SPECIALS.pad),
      learned: new Float32Array(rows * length),
      size: 0,
    };
    for (let row = 0; row < rows; row++) {
      const { tokens, learned } = examples.at(order.next().value);
      batch.tokens.set(tokens.subarray(0, -1), row * length);
      batch.targets.set(tokens.subarray(1), row * length);
      batch.learned.set(learned.subarray(1), row * length);
      batch.size += tokens.length - 1;
    }
    yield batch;
  }
}

/** Indices below `count`, shuffled anew for each pass. */
function* passes(count: number, seed: number): Generator<number, never> {
  const random = createRandom(seed, "order");
  const order = new Uint32Array(count).map((_, i) => i);
  for (;;) {
    for (let i = count - 1; i > 0; i--) {
      const j = Math.floor(random.uniform() * (i + 1));
      [order[i], order[j]] = [order[j] ?? 0, order[i] ?? 0];
    }
    yield* order;
  }
}
