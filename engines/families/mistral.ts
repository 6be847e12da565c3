import type { Family } from "./family.ts";
import { listBlocks } from "./llama.ts";

/** Without a `sliding_window`, its configs mean one of 4,096 tokens. */
export const mistral: Family = {
  architecture: "MistralForCausalLM",
  defaults: { slidingWindow: 4_096 },
  // JSON's null is none.
  write: () => ({ sliding_window: null }),
  list: (layers, d) => listBlocks(layers, d),
};
