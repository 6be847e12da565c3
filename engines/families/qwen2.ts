import type { Family } from "./family.ts";
import { listBlocks } from "./llama.ts";
import { QWEN_SLIDING } from "./slidingLayers.ts";

/** Its queries, keys and values have biases. */
export const qwen2: Family = {
  architecture: "Qwen2ForCausalLM",
  defaults: { kvHeads: 32 },
  sliding: QWEN_SLIDING,
  biases: () => ["q_proj", "k_proj", "v_proj"],
  list: (layers, d) => listBlocks(layers, d),
};
