import type { Family } from "./family.ts";
import { attentionBiases, listBlocks } from "./llama.ts";
import { QWEN_SLIDING } from "./slidingLayers.ts";

/** Each head's query and key are normalized before they turn. */
export const qwen3: Family = {
  architecture: "Qwen3ForCausalLM",
  defaults: { kvHeads: 32, headDim: 128 },
  sliding: QWEN_SLIDING,
  biases: attentionBiases,
  list: (layers, d) => listBlocks(layers, d, { hasHeadNorms: true }),
};
