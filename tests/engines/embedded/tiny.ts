import { createRandom } from "../../../engines/dataset/random.ts";
import type { Sequence } from "../../../engines/examples/examples.ts";
import { type Dimensions, dimensionsOf } from "../../../engines/families/dimensions.ts";
import { randomWeights } from "../../../engines/families/randomWeights.ts";
import { merged, updatesOf } from "../../../engines/lora/updates.ts";
import { inMemoryTensors, readAll } from "../../../engines/modelFiles/tensors.ts";
import type { StoredWeights, Weights } from "../../../engines/modelFiles/weights.ts";
import { VOCABULARY } from "../../../engines/tokens/byteTokens.ts";
import { type LoraConfig } from "../../../protocol/trainConfig.ts";

/** A model that is small enough to compile at once, yet has every part. */
export const TINY = dimensionsOf({ layers: 2, heads: 2, width: 8, context: 48 });

/** The same with a head of its own. */
export const UNTIED = { ...TINY, tied: false };

/** A block of each other kind: shared keys, heads of their own size, biases, norms of heads. */
export const FAMILIES: Record<string, Dimensions> = {
  "Llama 3": dimensionsOf({
    layers: 1,
    heads: 4,
    kvHeads: 2,
    width: 8,
    intermediateSize: 16,
    context: 48,
    tied: false,
    rope: {
      type: "llama3",
      theta: 500,
      factor: 8,
      lowFreqFactor: 1,
      highFreqFactor: 4,
      originalContext: 32,
    },
  }),
  "Llama 3.2": dimensionsOf({
    layers: 1,
    heads: 4,
    kvHeads: 2,
    headDim: 16,
    width: 8,
    intermediateSize: 16,
    context: 48,
    rope: {
      type: "llama3",
      theta: 500_000,
      factor: 32,
      lowFreqFactor: 1,
      highFreqFactor: 4,
      originalContext: 60,
    },
  }),
  "Qwen 2": dimensionsOf({
    layers: 1,
    heads: 4,
    kvHeads: 1,
    width: 16,
    intermediateSize: 20,
    context: 48,
    epsilon: 1e-6,
    family: "qwen2",
    biases: ["q_proj", "k_proj", "v_proj"],
  }),
  "Qwen 3": dimensionsOf({
    layers: 1,
    heads: 4,
    kvHeads: 2,
    headDim: 6,
    width: 8,
    intermediateSize: 12,
    context: 48,
    family: "qwen3",
  }),
  SmolLM3: dimensionsOf({
    layers: 2,
    heads: 4,
    kvHeads: 2,
    width: 8,
    intermediateSize: 12,
    context: 48,
    family: "smollm3",
    noRopeLayers: [1],
  }),
  "Gemma 3": dimensionsOf({
    layers: 2,
    heads: 4,
    kvHeads: 2,
    headDim: 6,
    width: 8,
    intermediateSize: 12,
    context: 48,
    family: "gemma3_text",
    epsilon: 1e-6,
    queryScalar: 5,
    sliding: { layers: [0], window: 3, theta: 30 },
  }),
  "Llama with biases": dimensionsOf({
    layers: 1,
    heads: 2,
    headDim: 8,
    width: 8,
    intermediateSize: 12,
    context: 48,
    rope: { type: "linear", theta: 1000, factor: 4 },
    biases: ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
  }),
};

/**
 * Random weights, with norms that are not 1, so that leaving one out shows, and with a larger
 * embedding, so that the loss bends less and finite differences are exact enough.
 */
export function tinyWeights(seed = 1, shape: Dimensions = TINY): Weights {
  const weights = randomWeights(shape, seed);
  const random = createRandom(seed, "norms");
  const least = shape.family === "gemma3_text" ? -0.5 : 0.5;
  for (const { shape, data } of Object.values(weights)) {
    if (shape[0] === VOCABULARY) data.forEach((value, i) => (data[i] = value * 2.5));
    if (shape.length === 1) data.forEach((_, i) => (data[i] = least + random.uniform()));
  }
  return weights;
}

/** The weights rounded to bfloat16, towards 0. */
export function toBfloat16(weights: Weights): StoredWeights {
  const cut = (data: Float32Array) =>
    Uint16Array.from(new Uint32Array(data.buffer), (bits) => bits >>> 16);
  return Object.fromEntries(
    Object.entries(weights).map(([name, { shape, data }]) => [name, { shape, data: cut(data) }]),
  );
}

/** A model with an adapter merged into it. */
export function mergedWeights(base: Weights, adapter: Weights, lora: LoraConfig): StoredWeights {
  return readAll(
    merged(inMemoryTensors(base), updatesOf(inMemoryTensors(adapter), lora), "the base"),
  );
}

export function tinyTokens(count: number, seed = 1): Int32Array<ArrayBuffer> {
  const random = createRandom(seed, "tokens");
  return Int32Array.from({ length: count }, () => Math.floor(random.uniform() * 262));
}

/** Sequences of random tokens, so many read of each, whose second halves are learned. */
export function tinySequences(lengths: readonly number[], seed = 1): Sequence[] {
  return lengths.map((length, i) => ({
    tokens: Uint16Array.from(tinyTokens(length + 1, seed * 100 + i)),
    learned: Uint8Array.from({ length: length + 1 }, (_, at) => (at <= length / 2 ? 0 : 1)),
  }));
}

/** Such sequences of one length. */
export function tinyBatch(rows: number, length: number, seed = 1): Sequence[] {
  return tinySequences(Array(rows).fill(length) as number[], seed);
}
