import type { Family } from "./family.ts";
import { listBlocks } from "./llama.ts";
import { USUAL_WINDOW } from "./slidingLayers.ts";

export const mistral: Family = {
  architecture: "MistralForCausalLM",
  defaults: { kvHeads: 8 },
  sliding: {
    window: ({ sliding_window: window = USUAL_WINDOW }) => window,
    // JSON's null is none.
    slides: ({ sliding_window: window }) => window !== null,
  },
  biases: () => [],
  write: () => ({ sliding_window: null }),
  list: (layers, d) => listBlocks(layers, d),
};
