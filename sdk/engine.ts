import { createEmbeddedEngine } from "../engines/embedded/index.ts";
import type { Engine } from "../protocol/engine.ts";

/** The names of the default engine's adapter targets, which an editor offers. */
export type { Projection } from "../engines/llama/weights.ts";

/** For a trainer, or a saved model, without an engine of its own. */
export function createDefaultEngine(): Engine {
  return createEmbeddedEngine();
}
