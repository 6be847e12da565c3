import type { Config } from "../modelFiles/configFile.ts";
import type { Dimensions } from "./dimensions.ts";
import type { InvalidConfig } from "./family.ts";

export const SLIDING = "sliding_attention";
export const FULL = "full_attention";

/** How a family's config describes sliding-window layers. */
export interface SlidingConfig {
  /** The window in tokens; not checked yet. */
  window: (config: Config) => unknown;
  /** Whether a layer has a window, if the config has no `layer_types`. @param read the result of the family's `read` */
  isSliding: (config: Config, layer: number, read: Partial<Dimensions>) => boolean;
}

/** Default of `transformers` without a `sliding_window`. */
export const DEFAULT_WINDOW = 4_096;

/** Llama's. `transformers` trains with full attention but truncates the KV cache, so Kit refuses an active window. */
export const LLAMA_SLIDING: SlidingConfig = {
  window: (config) => config["sliding_window"],
  isSliding: (config) =>
    typeof config["sliding_window"] === "number" && config["use_sliding_window"] !== false,
};

/** Qwen's: the layers from `max_window_layers` on, if `use_sliding_window` is true. */
export const QWEN_SLIDING: SlidingConfig = {
  window: ({ use_sliding_window: isOn, sliding_window: window = DEFAULT_WINDOW }) =>
    isOn === true ? window : null,
  isSliding(config, layer) {
    const { max_window_layers: firstLayer = 28 } = config;
    return typeof QWEN_SLIDING.window(config) === "number" && layer >= Number(firstLayer);
  },
};

/**
 * A model's sliding-window layers, from 0, and their window; undefined if all have full attention.
 */
export function slidingLayers(
  config: Config,
  { window, isSliding }: SlidingConfig,
  invalid: InvalidConfig,
  read: Partial<Dimensions> = {},
) {
  const types = layerTypes(config, invalid);
  const all = Array.from({ length: Number(config["num_hidden_layers"]) }, (_, layer) => layer);
  const layers = all.filter((layer) =>
    types ? types[layer] === SLIDING : isSliding(config, layer, read),
  );
  if (layers.length === 0) return undefined;
  const tokens = window(config);
  if (Number.isSafeInteger(tokens) && Number(tokens) > 0) return { layers, window: Number(tokens) };
  throw invalid(
    "needs a positive whole number as sliding_window for its layers with sliding_attention. Save or download it again.",
  );
}

function layerTypes(config: Config, invalid: InvalidConfig): unknown[] | undefined {
  const { layer_types: types, num_hidden_layers: layers } = config;
  if (types === undefined || types === null) return undefined;
  const isKnown = (type: unknown) => type === SLIDING || type === FULL || type === "attention";
  if (Array.isArray(types) && types.length === layers && types.every(isKnown)) return types;
  throw invalid(
    `needs ${SLIDING} or ${FULL} for each layer as layer_types. Save or download it again.`,
  );
}
