import type { Family } from "./family.ts";
import { attentionBiases, buildBlocks } from "./llama.ts";
import { QWEN_SLIDING } from "./slidingLayers.ts";

/** Qwen3: Llama with RMSNorm of each head's query and key before RoPE. */
export const qwen3: Family = {
  architecture: "Qwen3ForCausalLM",
  defaults: { kvHeads: 32, headDim: 128 },
  sliding: QWEN_SLIDING,
  biases: attentionBiases,
  build: (layers, d) => buildBlocks(layers, d, { hasHeadNorms: true }),
};
