import { type Dimensions, dimensionsOf } from "../../../engines/families/dimensions.ts";

const SIZES = { layers: 2, heads: 4, width: 32, intermediateSize: 64, context: 64 };

/** A small model of each kind that a GGUF file can hold, with Kit's own tokens. */
export const FAMILIES: Record<string, Dimensions> = {
  "Kit's own": dimensionsOf({ ...SIZES }),
  "Llama with a head of its own": dimensionsOf({ ...SIZES, kvHeads: 2, tied: false }),
  "Llama 3": dimensionsOf({
    ...SIZES,
    kvHeads: 2,
    rope: {
      type: "llama3",
      theta: 500,
      factor: 8,
      lowFreqFactor: 1,
      highFreqFactor: 4,
      originalContext: 32,
    },
  }),
  "Llama with biases": dimensionsOf({
    ...SIZES,
    headDim: 16,
    rope: { type: "linear", theta: 1000, factor: 4 },
    biases: ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
  }),
  "Qwen 2": dimensionsOf({
    ...SIZES,
    kvHeads: 2,
    epsilon: 1e-6,
    family: "qwen2",
    biases: ["q_proj", "k_proj", "v_proj"],
  }),
  "Qwen 3": dimensionsOf({ ...SIZES, kvHeads: 2, headDim: 16, family: "qwen3" }),
  Mistral: dimensionsOf({ ...SIZES, kvHeads: 1, tied: false, family: "mistral" }),
  "Gemma 3": dimensionsOf({
    ...SIZES,
    layers: 7,
    kvHeads: 2,
    headDim: 16,
    family: "gemma3_text",
    epsilon: 1e-6,
    sliding: { layers: [0, 1, 2, 3, 4, 6], window: 8, theta: 10_000 },
  }),
  SmolLM3: dimensionsOf({ ...SIZES, layers: 4, kvHeads: 2, family: "smollm3", noRopeLayers: [3] }),
};
