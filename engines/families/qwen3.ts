import type { Family } from "./family.ts";
import { listBlocks } from "./llama.ts";

/** Each head's query and key are normalized before they turn. */
export const qwen3: Family = {
  architecture: "Qwen3ForCausalLM",
  list: (layers, d) => listBlocks(layers, d, { hasHeadNorms: true }),
};
