import type { Family } from "./family.ts";
import { listBlocks } from "./llama.ts";

/** Every fourth layer, or those that its config names, applies no rotary embedding. */
const INTERVAL = 4;

export const smollm3: Family = {
  architecture: "SmolLM3ForCausalLM",
  defaults: { tied: true, theta: 2_000_000, kvHeads: 4 },
  sliding: {
    window: (config) => config["sliding_window"],
    slides: ({ use_sliding_window: used, sliding_window: window }, layer, { unrotated }) =>
      used === true && typeof window === "number" && unrotated?.includes(layer) === true,
  },
  read(
    { no_rope_layers: rotates, no_rope_layer_interval: interval = INTERVAL, ...config },
    refuse,
  ) {
    const layers = Array.from({ length: Number(config["num_hidden_layers"]) }, (_, layer) => layer);
    if (rotates === undefined || rotates === null) {
      if (!Number.isSafeInteger(interval) || Number(interval) < 1) {
        throw refuse(
          "needs a positive whole number as no_rope_layer_interval. Save or download it again.",
        );
      }
      return { unrotated: layers.filter((layer) => (layer + 1) % Number(interval) === 0) };
    }
    if (Array.isArray(rotates) && rotates.length >= layers.length)
      return { unrotated: layers.filter((layer) => !rotates[layer]) };
    throw refuse("needs a number for each layer as no_rope_layers. Save or download it again.");
  },
  write: ({ layers, unrotated }) => ({
    no_rope_layers: Array.from({ length: layers }, (_, layer) =>
      unrotated.includes(layer) ? 0 : 1,
    ),
  }),
  list: (layers, d) => listBlocks(layers, d, { rotates: (layer) => !d.unrotated.includes(layer) }),
};
