import type { Family } from "./family.ts";
import { buildBlocks } from "./llama.ts";

/** Every fourth layer has no RoPE, unless `no_rope_layers` has a 0 for each layer without it. */
const NO_ROPE_INTERVAL = 4;

export const smollm3: Family = {
  architecture: "SmolLM3ForCausalLM",
  defaults: { tied: true, theta: 2_000_000, kvHeads: 4 },
  sliding: {
    window: (config) => config["sliding_window"],
    isSliding: ({ use_sliding_window: isOn, sliding_window: window }, layer, { noRopeLayers }) =>
      isOn === true && typeof window === "number" && noRopeLayers?.includes(layer) === true,
  },
  read(
    { no_rope_layers: usesRope, no_rope_layer_interval: interval = NO_ROPE_INTERVAL, ...config },
    invalid,
  ) {
    const layers = Array.from({ length: Number(config["num_hidden_layers"]) }, (_, layer) => layer);
    if (usesRope === undefined || usesRope === null) {
      if (!Number.isSafeInteger(interval) || Number(interval) < 1) {
        throw invalid(
          "needs a positive whole number as no_rope_layer_interval. Save or download it again.",
        );
      }
      return { noRopeLayers: layers.filter((layer) => (layer + 1) % Number(interval) === 0) };
    }
    if (Array.isArray(usesRope) && usesRope.length >= layers.length)
      return { noRopeLayers: layers.filter((layer) => !usesRope[layer]) };
    throw invalid("needs a number for each layer as no_rope_layers. Save or download it again.");
  },
  write: ({ layers, noRopeLayers }) => ({
    no_rope_layers: Array.from({ length: layers }, (_, layer) =>
      noRopeLayers.includes(layer) ? 0 : 1,
    ),
  }),
  build: (layers, d) =>
    buildBlocks(layers, d, { usesRope: (layer) => !d.noRopeLayers.includes(layer) }),
};
