import { createEmbeddedEngine } from "../engines/embedded/index.ts";
import type { Engine } from "../protocol/engine.ts";

/** The engine of a trainer, or of a saved model, that names none. */
export function createDefaultEngine(): Engine {
  return createEmbeddedEngine();
}
