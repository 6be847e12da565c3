import { createEmbeddedEngine } from "../engines/embedded/index.ts";
import type { Engine } from "../protocol/engine.ts";

/** For a trainer, or a saved model, without an engine of its own. */
export function createDefaultEngine(): Engine {
  return createEmbeddedEngine();
}
