import type { Family } from "./family.ts";
import { listBlocks } from "./llama.ts";

/** Its queries, keys and values have biases. */
export const qwen2: Family = {
  architecture: "Qwen2ForCausalLM",
  list: (layers, d) => listBlocks(layers, d),
};
