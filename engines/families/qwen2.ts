import type { Family } from "./family.ts";
import { buildBlocks } from "./llama.ts";
import { QWEN_SLIDING } from "./slidingLayers.ts";

/** Qwen2: Llama with biases in q, k and v. */
export const qwen2: Family = {
  architecture: "Qwen2ForCausalLM",
  defaults: { kvHeads: 32 },
  sliding: QWEN_SLIDING,
  biases: () => ["q_proj", "k_proj", "v_proj"],
  build: (layers, d) => buildBlocks(layers, d),
};
