import type { Family } from "./family.ts";
import { buildBlocks } from "./llama.ts";
import { DEFAULT_WINDOW } from "./slidingLayers.ts";

export const mistral: Family = {
  architecture: "MistralForCausalLM",
  defaults: { kvHeads: 8 },
  sliding: {
    window: ({ sliding_window: window = DEFAULT_WINDOW }) => window,
    // null turns the window off.
    isSliding: ({ sliding_window: window }) => window !== null,
  },
  biases: () => [],
  write: () => ({ sliding_window: null }),
  build: (layers, d) => buildBlocks(layers, d),
};
