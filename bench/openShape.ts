import { dimensionsOf } from "../engines/families/dimensions.ts";
import { PROJECTIONS } from "../engines/families/projections.ts";
import type { LoraConfig } from "../protocol/trainConfig.ts";

/** As large as SmolLM2-135M. */
export const OPEN_SHAPE = dimensionsOf({
  layers: 30,
  heads: 9,
  kvHeads: 3,
  width: 576,
  intermediateSize: 1536,
  vocabulary: 49_152,
  // A row of 2,048 tokens has one more, for its last prediction.
  context: 4096,
});

/** As large as SmolLM2-1.7B. */
export const LARGE_OPEN_SHAPE = dimensionsOf({
  layers: 24,
  heads: 32,
  kvHeads: 32,
  width: 2048,
  intermediateSize: 8192,
  vocabulary: 49_152,
  context: 2048,
});

/** For the smallest sizes. */
export const TINY_OPEN_SHAPE = dimensionsOf({
  layers: 1,
  heads: 4,
  kvHeads: 2,
  width: 16,
  intermediateSize: 32,
  vocabulary: 512,
  context: 2048,
});

export const OPEN_LORA: LoraConfig = { r: 16, alpha: 32, targetModules: [...PROJECTIONS] };

export const OPEN_SEED = 1;
