import { type Config } from "../modelFiles/configFile.ts";
import type { Dimensions } from "./dimensions.ts";
import type { Refuse } from "./family.ts";

export const SLIDING = "sliding_attention";
export const FULL = "full_attention";

/** How a family's config says which layers see the last tokens alone. */
export interface SlidingConfig {
  /** Tokens that such a layer sees. */
  window: (config: Config) => unknown;
  /** Whether a layer is one, where `layer_types` names none. @param read what the family has read */
  slides: (config: Config, layer: number, read: Partial<Dimensions>) => boolean;
}

/** The window that `transformers` gives a config without a `sliding_window`. */
export const USUAL_WINDOW = 4_096;

/** Llama's, which `transformers` computes in full; where its cache would cut, Kit refuses it. */
export const LLAMA_SLIDING: SlidingConfig = {
  window: (config) => config["sliding_window"],
  slides: (config) =>
    typeof config["sliding_window"] === "number" && config["use_sliding_window"] !== false,
};

/** Qwen's: from a layer on, and only where `use_sliding_window` turns it on. */
export const QWEN_SLIDING: SlidingConfig = {
  window: ({ use_sliding_window: used, sliding_window: window = USUAL_WINDOW }) =>
    used === true ? window : null,
  slides(config, layer) {
    const { max_window_layers: full = 28 } = config;
    return typeof QWEN_SLIDING.window(config) === "number" && layer >= Number(full);
  },
};

/**
 * The layers that see the last tokens alone, from 0, and how many these see; undefined where all see all.
 * @param refuse makes the error for a problem, which follows the file's path
 */
export function slidingLayers(
  config: Config,
  { window, slides }: SlidingConfig,
  refuse: Refuse,
  read: Partial<Dimensions> = {},
) {
  const types = layerTypes(config, refuse);
  const all = Array.from({ length: Number(config["num_hidden_layers"]) }, (_, layer) => layer);
  const layers = all.filter((layer) =>
    types ? types[layer] === SLIDING : slides(config, layer, read),
  );
  if (layers.length === 0) return undefined;
  const tokens = window(config);
  if (Number.isSafeInteger(tokens) && Number(tokens) > 0) return { layers, window: Number(tokens) };
  throw refuse(
    "needs a positive whole number as sliding_window for its layers with sliding_attention. Save or download it again.",
  );
}

function layerTypes(config: Config, refuse: Refuse): unknown[] | undefined {
  const { layer_types: types, num_hidden_layers: layers } = config;
  if (types === undefined || types === null) return undefined;
  const isKnown = (type: unknown) => type === SLIDING || type === FULL || type === "attention";
  if (Array.isArray(types) && types.length === layers && types.every(isKnown)) return types;
  throw refuse(
    `needs ${SLIDING} or ${FULL} for each layer as layer_types. Save or download it again.`,
  );
}
