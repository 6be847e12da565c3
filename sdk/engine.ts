import { createEmbeddedEngine } from "../engines/embedded/index.ts";
import type { Engine } from "../protocol/engine.ts";

export type { PresetName } from "../engines/llama/presets.ts";
export type { Projection } from "../engines/llama/weights.ts";

/** The engine of a trainer, or of a saved model, that names none. */
export function createDefaultEngine(): Engine {
  return createEmbeddedEngine();
}
