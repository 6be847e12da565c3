import { type Batch } from "../../../engines/embedded/train/batch.ts";
import { createRandom } from "../../../engines/llama/random.ts";
import type { StoredWeights } from "../../../engines/llama/storedWeights.ts";
import { VOCABULARY } from "../../../engines/llama/tokenizer.ts";
import { type LlamaShape, type Weights, randomWeights } from "../../../engines/llama/weights.ts";

/** A model that is small enough to compile at once, yet has every part. */
export const TINY = { layers: 2, heads: 2, width: 8, context: 48 };

/** The same with a head of its own. */
export const UNTIED = { ...TINY, tieWordEmbeddings: false };

/**
 * Random weights, with norms that are not 1, so that leaving one out shows, and with a larger
 * embedding, so that the loss bends less and finite differences are exact enough.
 */
export function tinyWeights(seed = 1, shape: LlamaShape = TINY): Weights {
  const weights = randomWeights(shape, seed);
  const random = createRandom(seed, "norms");
  for (const { shape, data } of Object.values(weights)) {
    if (shape[0] === VOCABULARY) data.forEach((value, i) => (data[i] = value * 2.5));
    if (shape.length === 1) data.forEach((_, i) => (data[i] = 0.5 + random.uniform()));
  }
  return weights;
}

/** The weights rounded to bfloat16, towards 0. */
export function toBfloat16(weights: Weights): StoredWeights {
  const cut = (data: Float32Array<ArrayBuffer>) =>
    Uint16Array.from(new Uint32Array(data.buffer), (bits) => bits >>> 16);
  return Object.fromEntries(
    Object.entries(weights).map(([name, { shape, data }]) => [name, { shape, data: cut(data) }]),
  );
}

export function tinyTokens(count: number, seed = 1): Int32Array<ArrayBuffer> {
  const random = createRandom(seed, "tokens");
  return Int32Array.from({ length: count }, () => Math.floor(random.uniform() * 262));
}

/** A batch of random tokens whose second halves are learned. */
export function tinyBatch(rows: number, length: number): Batch {
  return {
    tokens: tinyTokens(rows * length),
    targets: tinyTokens(rows * length, 2),
    learned: Float32Array.from({ length: rows * length }, (_, i) =>
      i % length < length / 2 ? 0 : 1,
    ),
    size: rows * length,
  };
}
